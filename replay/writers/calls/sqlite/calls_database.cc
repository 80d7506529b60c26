// SPDX-License-Identifier: MIT
#include "replay/writers/calls/sqlite/calls_database.h"

#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace flowback {
namespace {

// The number of rows that one statement writes: running it costs as much as a few rows do.
constexpr size_t kRowsAtOnce = 32;

constexpr const char* kTables = R"sql(
CREATE TABLE selected_events(id integer NOT NULL PRIMARY KEY, name varchar(80));
CREATE TABLE machines(id integer NOT NULL PRIMARY KEY, pid integer, root_dir varchar(4096));
CREATE TABLE threads(id integer NOT NULL PRIMARY KEY, machine_id bigint, process_id bigint,
                     pid integer, tid integer);
CREATE TABLE comms(id integer NOT NULL PRIMARY KEY, comm varchar(16), c_thread_id bigint,
                   c_time bigint, exec_flag boolean);
CREATE TABLE comm_threads(id integer NOT NULL PRIMARY KEY, comm_id bigint, thread_id bigint);
CREATE TABLE dsos(id integer NOT NULL PRIMARY KEY, machine_id bigint, short_name varchar(256),
                  long_name varchar(4096), build_id varchar(64));
CREATE TABLE symbols(id integer NOT NULL PRIMARY KEY, dso_id bigint, sym_start bigint,
                     sym_end bigint, binding integer, name varchar(2048));
CREATE TABLE call_paths(id integer NOT NULL PRIMARY KEY, parent_id bigint, symbol_id bigint,
                        ip bigint);
CREATE TABLE calls(id integer NOT NULL PRIMARY KEY, thread_id bigint, comm_id bigint,
                   call_path_id bigint, call_time bigint, return_time bigint, branch_count bigint,
                   call_id bigint, return_id bigint, parent_call_path_id bigint, flags integer,
                   parent_id bigint, insn_count bigint, cyc_count bigint, self_insn_count bigint);
CREATE TABLE losses(thread_id bigint, time bigint, cause text);
INSERT INTO machines VALUES(0, 0, 'unknown');
INSERT INTO machines VALUES(1, 0, '');
INSERT INTO threads VALUES(0, 0, 0, -1, -1);
INSERT INTO comms VALUES(0, 'unknown', 0, 0, 0);
INSERT INTO dsos VALUES(0, 0, 'unknown', 'unknown', '');
INSERT INTO symbols VALUES(0, 0, 0, 0, 0, 'unknown');
INSERT INTO call_paths VALUES(0, 0, 0, 0);
INSERT INTO call_paths VALUES(1, 0, 0, 0);
)sql";

constexpr const char* kViews = R"sql(
CREATE INDEX pcpid_idx ON calls(parent_call_path_id);
CREATE INDEX pid_idx ON calls(parent_id);
CREATE VIEW machines_view AS SELECT id, pid, root_dir,
  CASE WHEN id = 0 THEN 'unknown' WHEN pid = -1 THEN 'host' ELSE 'guest' END AS host_or_guest
  FROM machines;
CREATE VIEW dsos_view AS SELECT id, machine_id,
  (SELECT host_or_guest FROM machines_view WHERE id = machine_id) AS host_or_guest,
  short_name, long_name, build_id FROM dsos;
CREATE VIEW symbols_view AS SELECT id, name,
  (SELECT short_name FROM dsos WHERE id = dso_id) AS dso, dso_id, sym_start, sym_end,
  CASE WHEN binding = 0 THEN 'local' WHEN binding = 1 THEN 'global' ELSE 'weak' END AS binding
  FROM symbols;
CREATE VIEW threads_view AS SELECT id, machine_id,
  (SELECT host_or_guest FROM machines_view WHERE id = machine_id) AS host_or_guest,
  process_id, pid, tid FROM threads;
CREATE VIEW comm_threads_view AS SELECT comm_id,
  (SELECT comm FROM comms WHERE id = comm_id) AS command, thread_id,
  (SELECT pid FROM threads WHERE id = thread_id) AS pid,
  (SELECT tid FROM threads WHERE id = thread_id) AS tid FROM comm_threads;
CREATE VIEW call_paths_view AS SELECT c.id, c.ip AS ip, c.symbol_id,
  (SELECT name FROM symbols WHERE id = c.symbol_id) AS symbol,
  (SELECT dso_id FROM symbols WHERE id = c.symbol_id) AS dso_id,
  (SELECT dso FROM symbols_view WHERE id = c.symbol_id) AS dso_short_name,
  c.parent_id, p.ip AS parent_ip, p.symbol_id AS parent_symbol_id,
  (SELECT name FROM symbols WHERE id = p.symbol_id) AS parent_symbol,
  (SELECT dso_id FROM symbols WHERE id = p.symbol_id) AS parent_dso_id,
  (SELECT dso FROM symbols_view WHERE id = p.symbol_id) AS parent_dso_short_name
  FROM call_paths c INNER JOIN call_paths p ON p.id = c.parent_id;
CREATE VIEW calls_view AS SELECT calls.id, thread_id,
  (SELECT pid FROM threads WHERE id = thread_id) AS pid,
  (SELECT tid FROM threads WHERE id = thread_id) AS tid,
  (SELECT comm FROM comms WHERE id = comm_id) AS command, call_path_id,
  call_paths.ip AS ip, symbol_id,
  (SELECT name FROM symbols WHERE id = symbol_id) AS symbol, call_time, return_time,
  return_time - call_time AS elapsed_time, branch_count, insn_count, cyc_count, self_insn_count,
  call_id, return_id, CASE WHEN flags = 0 THEN '' ELSE flags END AS flags, parent_call_path_id,
  calls.parent_id FROM calls INNER JOIN call_paths ON call_paths.id = call_path_id;
)sql";

}  // namespace

// Binds values one after the other, and runs the statement at the end.
class CallsDatabase::Row {
 public:
  Row(CallsDatabase& database, const Statement& statement)
      : database_(database), statement_(statement.get()) {}
  ~Row() {
    if (sqlite3_step(statement_) != SQLITE_DONE) database_.Note(sqlite3_reset(statement_));
    sqlite3_reset(statement_);
  }
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;

  Row& Number(uint64_t value) {
    sqlite3_bind_int64(statement_, ++at_, static_cast<sqlite3_int64>(value));
    return *this;
  }
  Row& Text(std::string_view text) {
    sqlite3_bind_text(statement_, ++at_, text.data(), static_cast<int>(text.size()),
                      SQLITE_TRANSIENT);
    return *this;
  }

 private:
  CallsDatabase& database_;
  sqlite3_stmt* const statement_;
  int at_ = 0;
};

void CallsDatabase::CloseDatabase::operator()(sqlite3* database) const { sqlite3_close(database); }
void CallsDatabase::FinishStatement::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Result<std::unique_ptr<CallsDatabase>> CallsDatabase::Make() {
  std::error_code failed;
  std::string path = (std::filesystem::temp_directory_path(failed) / "flowback-XXXXXX").string();
  const int file = failed ? -1 : mkstemp(path.data());
  if (file < 0)
    return Fail(Error(ErrorCode::kSystem, "cannot make a temporary file for the database: " +
                                              std::string(std::strerror(errno)))
                    .Remedy("set TMPDIR to a folder that you may write to"));
  close(file);
  std::unique_ptr<CallsDatabase> database(new CallsDatabase(path));
  if (Status status = database->Open(); !status) return Fail(status.error());
  return database;
}

CallsDatabase::~CallsDatabase() { unlink(path_.c_str()); }

// No other process knows the file, and a database that was not finished is thrown away.
Status CallsDatabase::Open() {
  sqlite3* opened = nullptr;
  // Only one thread uses it, so its locks may be left out.
  Note(sqlite3_open_v2(path_.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX,
                       nullptr));
  database_.reset(opened);
  Run("PRAGMA page_size = 32768; PRAGMA cache_size = -32768; PRAGMA journal_mode = OFF; PRAGMA "
      "synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;");
  Run(kTables);
  Run("BEGIN");
  Prepare("INSERT INTO threads VALUES(?, 1, ?, ?, ?)", thread_);
  Prepare("INSERT INTO comms VALUES(?, ?, ?, 0, 0)", comm_);
  Prepare("INSERT INTO comm_threads VALUES(NULL, ?, ?)", comm_thread_);
  Prepare("INSERT INTO dsos VALUES(?, 1, ?, ?, ?)", dso_);
  Prepare("INSERT INTO symbols VALUES(?, ?, ?, ?, 1, ?)", symbol_);
  Prepare("INSERT INTO call_paths VALUES(?, ?, ?, ?)", path_row_);
  const std::string call = "(?, ?, ?, ?, ?, ?, 0, 0, 0, ?, 0, ?, ?, 0, ?)";
  std::string calls = "INSERT INTO calls VALUES" + call;
  Prepare(calls.c_str(), call_);
  for (size_t i = 1; i < kRowsAtOnce; ++i) calls += "," + call;
  Prepare(calls.c_str(), calls_);
  Prepare("INSERT INTO losses VALUES(?, ?, ?)", loss_);
  return failed_.empty() ? Status() : Fail(Failure());
}

void CallsDatabase::Note(int result) {
  if (result == SQLITE_OK || !failed_.empty()) return;
  failed_ = database_ == nullptr ? sqlite3_errstr(result) : sqlite3_errmsg(database_.get());
}

Error CallsDatabase::Failure() const {
  return Error(ErrorCode::kSystem, "cannot write the temporary database " + path_ + ": " + failed_)
      .Remedy("free space there, or set TMPDIR to a folder that has some");
}

void CallsDatabase::Run(const char* sql) {
  Note(sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr));
}

void CallsDatabase::Prepare(const char* sql, Statement& statement) {
  sqlite3_stmt* prepared = nullptr;
  Note(sqlite3_prepare_v2(database_.get(), sql, -1, &prepared, nullptr));
  statement.reset(prepared);
}

void CallsDatabase::AddThread(uint64_t id, uint64_t process, int32_t pid, int32_t tid) {
  Row(*this, thread_)
      .Number(id)
      .Number(process)
      .Number(static_cast<uint64_t>(int64_t{pid}))
      .Number(static_cast<uint64_t>(int64_t{tid}));
}

void CallsDatabase::AddComm(uint64_t id, const std::string& comm, uint64_t thread) {
  Row(*this, comm_).Number(id).Text(comm).Number(thread);
  Row(*this, comm_thread_).Number(id).Number(thread);
}

void CallsDatabase::AddDso(uint64_t id, const std::string& file, const std::string& build_id) {
  const size_t slash = file.rfind('/');
  Row(*this, dso_)
      .Number(id)
      .Text(slash == std::string::npos ? file : file.substr(slash + 1))
      .Text(file)
      .Text(build_id);
}

void CallsDatabase::AddSymbol(uint64_t id, uint64_t dso, uint64_t begin, const std::string& name) {
  Row(*this, symbol_).Number(id).Number(dso).Number(begin).Number(begin).Text(name);
}

void CallsDatabase::AddPath(uint64_t id, uint64_t parent, uint64_t symbol, uint64_t ip) {
  Row(*this, path_row_).Number(id).Number(parent).Number(symbol).Number(ip);
}

void CallsDatabase::AddCall(const CallRow& row) {
  constexpr size_t kMostWaiting = size_t{1} << 15;
  waiting_.push_back(row);
  if (waiting_.size() >= kMostWaiting) WriteCalls();
}

void CallsDatabase::WriteCalls() {
  std::ranges::sort(waiting_, {}, &CallRow::id);
  const auto bind = [](Row& at, const CallRow& row) {
    for (const uint64_t number : {row.id, row.thread, row.comm, row.path, row.begin, row.end,
                                  row.parent_path, row.parent, row.instructions, row.self})
      at.Number(number);
  };
  size_t i = 0;
  for (; i + kRowsAtOnce <= waiting_.size(); i += kRowsAtOnce) {
    Row rows(*this, calls_);
    for (size_t j = 0; j < kRowsAtOnce; ++j) bind(rows, waiting_[i + j]);
  }
  for (; i < waiting_.size(); ++i) {
    Row row(*this, call_);
    bind(row, waiting_[i]);
  }
  waiting_.clear();
}

void CallsDatabase::AddLoss(uint64_t thread, uint64_t time, std::string_view cause) {
  Row(*this, loss_).Number(thread).Number(time).Text(cause);
}

Status CallsDatabase::MoveTo(TextSink& sink) {
  WriteCalls();
  Run("COMMIT");
  Run(kViews);
  for (Statement* const each :
       {&thread_, &comm_, &comm_thread_, &dso_, &symbol_, &path_row_, &call_, &calls_, &loss_})
    each->reset();
  Note(sqlite3_close(database_.release()));
  std::FILE* const file = std::fopen(path_.c_str(), "rb");
  if (file == nullptr) failed_ = std::strerror(errno);
  if (!failed_.empty()) return Fail(Failure());
  constexpr size_t kPart = size_t{1} << 20;
  std::string part(kPart, '\0');
  while (const size_t size = std::fread(part.data(), 1, part.size(), file)) {
    sink.Write({part.data(), size});
    if (sink.closed()) break;
  }
  if (std::ferror(file) != 0) failed_ = "it cannot be read back";
  std::fclose(file);
  return failed_.empty() ? Status() : Fail(Failure());
}

}  // namespace flowback
