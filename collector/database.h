// SQLite with prepared statements that are kept, transactions that roll back, and errors as
// exceptions. Only the store uses it, and catches them at its edge.
#pragma once
#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace warder::collector {

struct DatabaseError : std::runtime_error {
  DatabaseError(const std::string& what, bool full) : runtime_error(what), disk_full(full) {}
  bool disk_full;
};

/// A statement in use: bound in order, stepped, and ready for its next user when it goes.
class Query {
 public:
  Query(sqlite3* database, sqlite3_stmt* statement) : database_(database), statement_(statement) {}
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;
  ~Query();

  /// Binds the next parameter. Text is copied.
  Query& with(std::string_view text);
  Query& with(std::int64_t number);
  /// True while there is a row.
  bool next();
  /// For statements without rows.
  void run() { next(); }

  std::string text(int column) const;
  std::int64_t number(int column) const;
  bool isNull(int column) const;

 private:
  sqlite3* database_;
  sqlite3_stmt* statement_;
  int bound_ = 0;
};

class Database {
 public:
  /// Opens or creates the file: WAL, synchronous FULL, foreign keys, 5 s busy timeout.
  explicit Database(const std::string& path);

  Query query(const char* sql);
  void run(const char* sql);

 private:
  struct Close {
    void operator()(sqlite3* database) const { ::sqlite3_close_v2(database); }
  };
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { ::sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3, Close> database_;
  std::map<const char*, std::unique_ptr<sqlite3_stmt, Finalize>> statements_;  // by literal
};

/// BEGIN IMMEDIATE ... COMMIT; rolls back when it goes without commit().
class Transaction {
 public:
  explicit Transaction(Database& database);
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction();
  /// Returns once the transaction is on disk.
  void commit();

 private:
  Database& database_;
  bool open_ = true;
};

}  // namespace warder::collector
