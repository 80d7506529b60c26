// SPDX-License-Identifier: MIT
// What statements of a query may not do: reach files.
#pragma once

struct sqlite3;

namespace flowback {

// From now on the database refuses ATTACH, VACUUM INTO, extensions, and each PRAGMA that changes
// something.
void RefuseFiles(sqlite3& database);

}  // namespace flowback
