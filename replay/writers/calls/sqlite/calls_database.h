// SPDX-License-Identifier: MIT
// A SQLite database of calls in a temporary file. Tables and views have the names and columns that
// perf's export-to-sqlite.py gives them, as far as they fit.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flowback/base/error.h"
#include "flowback/writers.h"

struct sqlite3;
struct sqlite3_stmt;

namespace flowback {

// A row of the table `calls`.
struct CallRow {
  uint64_t id = 0;
  uint64_t thread = 0;
  uint64_t comm = 0;
  uint64_t path = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t parent_path = 0;
  uint64_t parent = 0;  // the id of the call around it; 0: it has no known caller
  uint64_t instructions = 0;
  uint64_t self = 0;
};

// Rows of number 0 stand for unknown objects, as perf's do.
class CallsDatabase {
 public:
  // Errors: kSystem if there can be no temporary file.
  static Result<std::unique_ptr<CallsDatabase>> Make();
  ~CallsDatabase();
  CallsDatabase(const CallsDatabase&) = delete;
  CallsDatabase& operator=(const CallsDatabase&) = delete;

  void AddThread(uint64_t id, uint64_t process, int32_t pid, int32_t tid);
  void AddComm(uint64_t id, const std::string& comm, uint64_t thread);
  void AddDso(uint64_t id, const std::string& file, const std::string& build_id);
  void AddSymbol(uint64_t id, uint64_t dso, uint64_t begin, const std::string& name);
  void AddPath(uint64_t id, uint64_t parent, uint64_t symbol, uint64_t ip);
  void AddCall(const CallRow& row);
  void AddLoss(uint64_t thread, uint64_t time, std::string_view cause);

  // Makes the indexes and views, and writes the file. Errors: kSystem for the first row that could
  // not be written.
  Status MoveTo(TextSink& sink);

 private:
  class Row;
  struct CloseDatabase {
    void operator()(sqlite3* database) const;
  };
  struct FinishStatement {
    void operator()(sqlite3_stmt* statement) const;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, FinishStatement>;

  explicit CallsDatabase(std::string path) : path_(std::move(path)) {}
  Status Open();
  void Run(const char* sql);
  void Prepare(const char* sql, Statement& statement);
  void Note(int result);
  Error Failure() const;
  // Writes the rows that wait.
  void WriteCalls();

  const std::string path_;
  std::unique_ptr<sqlite3, CloseDatabase> database_;
  Statement thread_, comm_, comm_thread_, dso_, symbol_, path_row_, call_, calls_, loss_;
  // A call is known at its end, after those in it. Rows wait here to be written in the order of
  // their numbers, which costs a database less.
  std::vector<CallRow> waiting_;
  std::string failed_;  // why the first row could not be written
};

}  // namespace flowback
