// Calls of the system that the kinds of files under construction share. All throw IoError naming the path.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace lw {

[[noreturn]] void fail_io(const std::string& path, const char* action, int code);

/// The folder that a path lies in.
std::string folder_of(const std::string& path);

/// Claims room before hours of work go into a file; where the file system cannot, its length is set. What the file
/// holds already stays.
void reserve_bytes(int fd, std::uint64_t bytes, const std::string& path);

void write_all(int fd, std::uint64_t offset, std::span<const std::uint8_t> bytes, const std::string& path);

/// Makes the name of a file durable.
void sync_folder_of(const std::string& path);

}  // namespace lw
