#include "secrets/http/json_tokens.h"

#include "secrets/http/json_plain.h"

namespace warder::http {
namespace {

constexpr std::size_t kMaxDigits = 64;

bool isDigit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

JsonTokens::JsonTokens(Sink& sink, Utf8 utf8) : sink_(sink), utf8_(utf8) {
  kept_.reserve(kMaxJsonText);
}

void JsonTokens::restart() {
  state_ = State::Value;
  depth_ = 0;
  kept_.clear();
  high_half_ = 0;
  wide_left_ = 0;
  wide_low_ = 0x80;
  wide_high_ = 0xbf;
  fault_ = {};
  offset_ = 0;
}

void JsonTokens::fail(std::string_view why) {
  state_ = State::Failed;
  fault_ = why;
}

void JsonTokens::feed(std::string_view bytes) {
  const char* const end = bytes.data() + bytes.size();
  for (const char* at = bytes.data(); at != end && state_ != State::Failed;) {
    const char* next = step(at, end);
    offset_ += static_cast<std::uint64_t>(next - at) - (state_ == State::Failed ? 1 : 0);
    at = next;
  }
}

bool JsonTokens::finish() {
  if (state_ == State::Number && depth_ == 0) endNumber();
  if (state_ != State::Done && state_ != State::Failed)
    fail(offset_ == 0 ? "it is empty" : "it ends before the document does");
  return state_ == State::Done;
}

/// Takes at least one byte, or leaves the state in which it was called.
const char* JsonTokens::step(const char* at, const char* end) {
  switch (state_) {
    case State::Text:
      return text(at, end);
    case State::Number:
      return number(at, end);
    case State::Escape:
      escape(*at);
      break;
    case State::Hex:
      hex(*at);
      break;
    case State::Word:
      word(*at);
      break;
    default:
      structure(*at);
  }
  return at + 1;
}

void JsonTokens::structure(char c) {
  if (c == ' ' || c == '\n' || c == '\r' || c == '\t') return;
  if (c == '/') return fail("it holds a comment");
  switch (state_) {
    case State::ValueOrClose:
      if (c == ']') return close(true);
      return value(c);
    case State::Value:
      return value(c);
    case State::KeyOrClose:
      if (c == '}') return close(false);
      return key(c);
    case State::Key:
      return key(c);
    case State::Colon:
      if (c != ':') return fail("there is no colon after a key");
      state_ = State::Value;
      return;
    case State::AfterValue:
      return afterItem(c);
    default:
      return fail("something follows its end");
  }
}

void JsonTokens::key(char c) {
  if (c != '"') return fail("a key is not in double quotes");
  beginText(true);
}

void JsonTokens::afterItem(char c) {
  const bool array = arrays_[depth_ - 1];
  if (c == ',') {
    state_ = array ? State::Value : State::Key;
  } else if (c == (array ? ']' : '}')) {
    close(array);
  } else {
    fail("there is no comma between two values");
  }
}

void JsonTokens::value(char c) {
  const auto begin = [this](std::string_view rest, Word kind) {
    state_ = State::Word;
    word_ = rest;
    word_kind_ = kind;
  };
  switch (c) {
    case '{':
      return open(false);
    case '[':
      return open(true);
    case '"':
      return beginText(false);
    case 'n':
      return begin("ull", Word::Null);
    case 't':
      return begin("rue", Word::True);
    case 'f':
      return begin("alse", Word::False);
    case 'N':
    case 'I':
      return fail("it holds a number that is none");
    case '\xef':
      return fail("it begins with a byte order mark, or a value is no JSON");
    default:
      break;
  }
  if (c != '-' && !isDigit(c)) return fail("a value is no JSON");
  state_ = State::Number;
  digits_ = c == '-' ? Digits::Minus : c == '0' ? Digits::Zero : Digits::Whole;
  whole_ = true;
  kept_.assign(1, c);
}

void JsonTokens::open(bool array) {
  if (depth_ == kMaxJsonDepth) return fail("it is nested too deeply");
  arrays_[depth_++] = array;
  state_ = array ? State::ValueOrClose : State::KeyOrClose;
  sink_.onOpen(array);
}

void JsonTokens::close(bool array) {
  --depth_;
  afterValue();
  sink_.onClose(array);
}

void JsonTokens::afterValue() {
  state_ = depth_ == 0 ? State::Done : State::AfterValue;
}

void JsonTokens::word(char c) {
  if (c != word_.front()) return fail("a value is no JSON");
  word_.remove_prefix(1);
  if (!word_.empty()) return;
  afterValue();
  sink_.onWord(word_kind_);
}

void JsonTokens::beginText(bool is_key) {
  state_ = State::Text;
  is_key_ = is_key;
  whole_ = true;
  kept_.clear();
}

/// Nothing of it was kept yet: most texts are told from where they lie.
bool JsonTokens::isFresh() const {
  return kept_.empty() && whole_ && high_half_ == 0;
}

void JsonTokens::endText(std::string_view text) {
  if (is_key_) {
    state_ = State::Colon;
    sink_.onKey(text, whole_);
  } else {
    afterValue();
    sink_.onText(text, whole_);
  }
}

void JsonTokens::keep(std::string_view piece) {
  if (piece.empty()) return;
  const std::size_t room = kMaxJsonText - kept_.size();
  kept_.append(piece.substr(0, room));
  whole_ = whole_ && piece.size() <= room;
  if (!is_key_) sink_.onTextPart(piece);
}

const char* JsonTokens::text(const char* at, const char* end) {
  if (wide_left_ > 0) return wide(at, end);
  const char* stop = passPlain(at, end, utf8_ == Utf8::Checked);
  const std::string_view piece(at, static_cast<std::size_t>(stop - at));
  if (stop != end && *stop == '"' && isFresh() && piece.size() <= kMaxJsonText) {
    if (!is_key_) sink_.onTextPart(piece);
    endText(piece);
    return stop + 1;
  }
  if (stop != at) {
    loneHalf();
    keep(piece);
  }
  if (stop == end) return end;
  const auto c = static_cast<unsigned char>(*stop);
  if (c >= 0x80) {
    loneHalf();
    return wide(stop, end);
  }
  if (c == '"') {
    loneHalf();
    endText(kept_);
  }
  if (c == '\\') state_ = State::Escape;
  if (c < 0x20) fail("a text holds a control character");
  return stop + 1;
}

/// Characters beyond ASCII, as many as there are.
const char* JsonTokens::wide(const char* at, const char* end) {
  const char* next = at;
  while (next != end && state_ == State::Text) {
    const auto c = static_cast<unsigned char>(*next);
    if (wide_left_ == 0 && c < 0x80) break;
    wideByte(c);
    ++next;
  }
  if (state_ == State::Text) keep({at, static_cast<std::size_t>(next - at)});
  return next;
}

/// The table of well-formed sequences of the Unicode standard (3-7): no overlong forms, no halves
/// of surrogate pairs, nothing beyond U+10FFFF.
void JsonTokens::wideByte(unsigned char c) {
  if (wide_left_ > 0) {
    if (c < wide_low_ || c > wide_high_) return fail("a text is not UTF-8");
    wide_low_ = 0x80;
    wide_high_ = 0xbf;
    --wide_left_;
    return;
  }
  if (c < 0xc2 || c > 0xf4) return fail("a text is not UTF-8");
  wide_left_ = c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
  if (c == 0xe0) wide_low_ = 0xa0;
  if (c == 0xed) wide_high_ = 0x9f;
  if (c == 0xf0) wide_low_ = 0x90;
  if (c == 0xf4) wide_high_ = 0x8f;
}

void JsonTokens::escape(char c) {
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kValues = "\"\\/\b\f\n\r\t";
  if (c == 'u') {
    state_ = State::Hex;
    unit_ = 0;
    hex_left_ = 4;
    return;
  }
  const std::size_t which = kNames.find(c);
  if (which == std::string_view::npos) return fail("a text holds an escape that is none");
  state_ = State::Text;
  loneHalf();
  keep(kValues.substr(which, 1));
}

void JsonTokens::hex(char c) {
  const unsigned value = isDigit(c)             ? static_cast<unsigned>(c - '0')
                         : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A' + 10)
                                                : 16U;
  if (value > 15) return fail("a text holds an escape that is none");
  unit_ = unit_ * 16 + value;
  if (--hex_left_ > 0) return;
  state_ = State::Text;
  codeUnit(unit_);
}

void JsonTokens::codeUnit(unsigned unit) {
  if (unit >= 0xdc00 && unit <= 0xdfff && high_half_ != 0) {
    const unsigned point = 0x10000 + ((high_half_ - 0xd800) << 10) + (unit - 0xdc00);
    high_half_ = 0;
    return keepCodePoint(point);
  }
  loneHalf();
  if (unit >= 0xd800 && unit <= 0xdbff) {
    high_half_ = unit;
  } else {
    keepCodePoint(unit >= 0xdc00 && unit <= 0xdfff ? 0xfffd : unit);
  }
}

void JsonTokens::loneHalf() {
  if (high_half_ == 0) return;
  high_half_ = 0;
  keepCodePoint(0xfffd);
}

void JsonTokens::keepCodePoint(unsigned point) {
  char bytes[4];
  std::size_t size = 0;
  const auto put = [&](unsigned value) { bytes[size++] = static_cast<char>(value); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xc0 | point >> 6);
  } else if (point < 0x10000) {
    put(0xe0 | point >> 12);
  } else {
    put(0xf0 | point >> 18);
    put(0x80 | (point >> 12 & 0x3f));
  }
  if (point >= 0x800) put(0x80 | (point >> 6 & 0x3f));
  if (point >= 0x80) put(0x80 | (point & 0x3f));
  keep({bytes, size});
}

const char* JsonTokens::number(const char* at, const char* end) {
  while (at != end && digit(*at)) {
    whole_ = whole_ && kept_.size() < kMaxDigits;
    if (whole_) kept_ += *at;
    ++at;
  }
  if (at == end) return at;
  endNumber();
  if (state_ != State::Failed) structure(*at);
  return at + 1;
}

/// False: this byte is no part of the number.
bool JsonTokens::digit(char c) {
  const bool is_digit = isDigit(c);
  const auto go = [this](Digits next) {
    digits_ = next;
    return true;
  };
  switch (digits_) {
    case Digits::Minus:
      return is_digit && go(c == '0' ? Digits::Zero : Digits::Whole);
    case Digits::Point:
      return is_digit && go(Digits::Fraction);
    case Digits::Sign:
    case Digits::Exponent:
      return is_digit && go(Digits::Exponent);
    case Digits::E:
      if (c == '+' || c == '-') return go(Digits::Sign);
      return is_digit && go(Digits::Exponent);
    default:
      break;
  }
  if (is_digit) return digits_ != Digits::Zero;
  if (c == '.' && digits_ != Digits::Fraction) return go(Digits::Point);
  return (c == 'e' || c == 'E') && go(Digits::E);
}

void JsonTokens::endNumber() {
  const bool ends = digits_ == Digits::Zero || digits_ == Digits::Whole ||
                    digits_ == Digits::Fraction || digits_ == Digits::Exponent;
  if (!ends) return fail("it holds a number that is none");
  afterValue();
  sink_.onNumber(kept_, whole_);
}

}  // namespace warder::http
