// SPDX-License-Identifier: MIT
// Where a server waits for gdb: a Unix socket, or a TCP port of this machine.
#pragma once

#include <cstdint>
#include <string>

#include "base/descriptor.h"
#include "flowback/base/error.h"

namespace flowback::cli {

class GdbListener {
 public:
  // A socket at the path, which only this user may use. It goes with the object. Errors: kUsage
  // when the path is too long or something is there; kSystem.
  static Result<GdbListener> OnPath(const std::string& path);
  // A port of an IPv4 address; 0: a free one. Errors: kUsage for a bad address; kSystem.
  static Result<GdbListener> OnPort(const std::string& address, uint16_t port);
  GdbListener(GdbListener&& other) noexcept = default;
  GdbListener& operator=(GdbListener&&) = delete;
  ~GdbListener();

  int descriptor() const { return *socket_; }
  // What gdb's `target remote` takes.
  const std::string& name() const { return name_; }
  // Returns the next client that waits; a closed descriptor if no client waits.
  Descriptor Accept() const;
  // Turns away all other clients.
  void RefuseOthers() const;

 private:
  GdbListener(Descriptor socket, std::string name, std::string path)
      : socket_(std::move(socket)), name_(std::move(name)), path_(std::move(path)) {}

  Descriptor socket_;
  std::string name_;
  std::string path_;  // of the Unix socket; empty: none
};

}  // namespace flowback::cli
