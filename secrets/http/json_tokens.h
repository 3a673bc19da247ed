// Reads JSON that streams by (RFC 8259, strictly) and tells its tokens, in constant memory. What
// most bytes are, the inside of strings, is passed over many bytes at a time.
#pragma once
#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>

namespace warder::http {

/// Of a key or a text this much is told; the rest is read and dropped.
inline constexpr std::size_t kMaxJsonText = 1'024;
/// Objects and arrays within each other; deeper is a fault.
inline constexpr std::size_t kMaxJsonDepth = 256;

class JsonTokens {
 public:
  enum class Word { Null, True, False };

  /// What is told. Views last until the call returns. `whole`: nothing was dropped.
  class Sink {
   public:
    Sink() = default;
    Sink(const Sink&) = delete;
    Sink& operator=(const Sink&) = delete;
    virtual ~Sink() = default;
    virtual void onOpen(bool array) = 0;
    virtual void onClose(bool array) = 0;
    virtual void onKey(std::string_view key, bool whole) = 0;
    virtual void onText(std::string_view text, bool whole) = 0;
    /// Every piece of a text, also of what is dropped, before onText.
    virtual void onTextPart(std::string_view piece) = 0;
    virtual void onNumber(std::string_view digits, bool whole) = 0;
    virtual void onWord(Word word) = 0;
  };

  /// Checked: text that is no UTF-8 is a fault. Half of a surrogate pair, escaped, is none: it is
  /// told as U+FFFD.
  enum class Utf8 { Checked, Any };

  JsonTokens(Sink& sink, Utf8 utf8);

  void feed(std::string_view bytes);
  /// The input is over. True: it was one whole document.
  bool finish();
  /// Begins anew.
  void restart();

  bool done() const { return state_ == State::Done; }
  bool failed() const { return state_ == State::Failed; }
  /// What is wrong, as a part of a sentence; empty while nothing is.
  std::string_view fault() const { return fault_; }
  /// Bytes before the one that is wrong.
  std::uint64_t offset() const { return offset_; }

 private:
  enum class State {
    Value,         // of a document, or after a colon or a comma of an array
    ValueOrClose,  // after [
    KeyOrClose,    // after {
    Key,           // after a comma of an object
    Colon,
    AfterValue,
    Text,
    Escape,
    Hex,
    Number,
    Word,
    Done,
    Failed
  };
  enum class Digits { Minus, Zero, Whole, Point, Fraction, E, Sign, Exponent };

  const char* step(const char* at, const char* end);
  const char* text(const char* at, const char* end);
  const char* wide(const char* at, const char* end);
  const char* number(const char* at, const char* end);
  void structure(char c);
  void value(char c);
  void key(char c);
  void open(bool array);
  void close(bool array);
  void afterValue();
  void afterItem(char c);
  void escape(char c);
  void hex(char c);
  void codeUnit(unsigned unit);
  void keep(std::string_view piece);
  void keepCodePoint(unsigned point);
  void loneHalf();
  void beginText(bool is_key);
  bool isFresh() const;
  void endText(std::string_view text);
  bool digit(char c);
  void endNumber();
  void word(char c);
  void wideByte(unsigned char c);
  void fail(std::string_view why);

  Sink& sink_;
  Utf8 utf8_;
  State state_ = State::Value;
  Digits digits_ = Digits::Minus;
  std::size_t depth_ = 0;
  std::bitset<kMaxJsonDepth> arrays_;
  std::string kept_;  // of the key, the text or the number that is read
  bool whole_ = true;
  bool is_key_ = false;
  unsigned unit_ = 0;       // of an escape
  unsigned hex_left_ = 0;   // digits of it
  unsigned high_half_ = 0;  // the first of a surrogate pair
  unsigned wide_left_ = 0;  // bytes of a character in UTF-8
  unsigned char wide_low_ = 0x80;
  unsigned char wide_high_ = 0xbf;
  std::string_view word_;  // what is left of null, true, false
  Word word_kind_ = Word::Null;
  std::string_view fault_;
  std::uint64_t offset_ = 0;
};

}  // namespace warder::http
