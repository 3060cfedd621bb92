// A file under construction that outlives its process.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "io/file.hpp"

namespace lw {

/// A file that is made over several processes: it stands beside its place, as "<path>.partial", until commit() puts it
/// there. Behind its content it has room for notes on how far it is, which commit() cuts off. It is locked (flock) as
/// long as somebody writes it, and stays when the writer ends, in whatever way. Nothing that is read from it may be
/// trusted before it was compared with a hash. Members throw IoError.
class PartialFile : public OutputFile {
 public:
  static std::string name_of(const std::string& path) { return path + ".partial"; }

  /// Opens the unfinished file, or makes an empty one, of mode 0644 less the umask. Throws for one that is being
  /// written, that is of another user, or that is no regular file.
  explicit PartialFile(std::string path);

  /// The last bytes of the unfinished file, read without its lock; false if there is none, or it is shorter.
  static bool read_end(const std::string& path, std::span<std::uint8_t> bytes);

  const std::string& name() const noexcept { return name_; }
  std::uint64_t size() const;
  /// Claims room for content and notes. What is there stays; a file that had nothing goes where there is no room.
  void reserve(std::uint64_t content_bytes, std::uint64_t notes_bytes);
  void clear();
  /// False if the file ends before.
  bool read_at(std::uint64_t offset, std::span<std::uint8_t> bytes) const;
  void write_at(std::uint64_t offset, std::span<const std::uint8_t> bytes) override;
  /// Makes the file's content durable.
  void sync() const;
  void commit() override;
  void remove();

 private:
  std::string path_, name_;
  FileDescriptor file_;
  std::uint64_t content_bytes_ = 0;
};

}  // namespace lw
