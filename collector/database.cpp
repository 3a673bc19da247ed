#include "collector/database.h"

namespace warder::collector {

namespace {
[[noreturn]] void fail(sqlite3* database, int code, const std::string& doing) {
  throw DatabaseError(doing + ": " + ::sqlite3_errmsg(database), (code & 0xff) == SQLITE_FULL);
}
}  // namespace

Query::~Query() {
  ::sqlite3_reset(statement_);
  ::sqlite3_clear_bindings(statement_);
}

Query& Query::with(std::string_view text) {
  const int code = ::sqlite3_bind_text64(statement_, ++bound_, text.data(), text.size(),
                                         SQLITE_TRANSIENT, SQLITE_UTF8);
  if (code != SQLITE_OK) fail(database_, code, "cannot bind a text");
  return *this;
}

Query& Query::with(std::int64_t number) {
  const int code = ::sqlite3_bind_int64(statement_, ++bound_, number);
  if (code != SQLITE_OK) fail(database_, code, "cannot bind a number");
  return *this;
}

bool Query::next() {
  const int code = ::sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  fail(database_, code, "the database refused a statement");
}

std::string Query::text(int column) const {
  const auto* bytes = ::sqlite3_column_text(statement_, column);
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes),
          static_cast<std::size_t>(::sqlite3_column_bytes(statement_, column))};
}

std::int64_t Query::number(int column) const {
  return ::sqlite3_column_int64(statement_, column);
}

bool Query::isNull(int column) const {
  return ::sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

Database::Database(const std::string& path) {
  sqlite3* opened = nullptr;
  const int code =
      ::sqlite3_open_v2(path.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  database_.reset(opened);
  if (code != SQLITE_OK) fail(opened, code, "cannot open " + path);
  ::sqlite3_extended_result_codes(opened, 1);
  ::sqlite3_busy_timeout(opened, 5000);
  run("PRAGMA journal_mode = WAL");
  run("PRAGMA synchronous = FULL");
  run("PRAGMA foreign_keys = ON");
}

Query Database::query(const char* sql) {
  auto& statement = statements_[sql];
  if (!statement) {
    sqlite3_stmt* prepared = nullptr;
    const int code = ::sqlite3_prepare_v3(database_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT,
                                          &prepared, nullptr);
    if (code != SQLITE_OK) fail(database_.get(), code, "cannot prepare a statement");
    statement.reset(prepared);
  }
  return Query(database_.get(), statement.get());
}

void Database::run(const char* sql) {
  const int code = ::sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(database_.get(), code, "the database refused a statement");
}

Transaction::Transaction(Database& database) : database_(database) {
  database_.run("BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (!open_) return;
  try {
    database_.run("ROLLBACK");
  } catch (const DatabaseError&) {
    // A failed COMMIT of a full disk has rolled back already.
  }
}

void Transaction::commit() {
  database_.run("COMMIT");
  open_ = false;
}

}  // namespace warder::collector
