// Server-sent events as they stream by: which bytes are data, and where an event ends (the HTML
// standard's text/event-stream). Lines of any length, constant memory.
#pragma once
#include <string>
#include <string_view>

namespace warder::models {

class EventLines {
 public:
  class Sink {
   public:
    Sink() = default;
    Sink(const Sink&) = delete;
    Sink& operator=(const Sink&) = delete;
    virtual ~Sink() = default;
    /// A piece of an event's data; lines of data are joined by newlines.
    virtual void onData(std::string_view piece) = 0;
    virtual void onEventEnd() = 0;
  };

  explicit EventLines(Sink& sink) : sink_(sink) {}
  void feed(std::string_view bytes);

 private:
  void feedLine(std::string_view bytes);
  void endLine();

  Sink& sink_;
  std::string line_start_;  // at most "data:"
  bool line_is_data_ = false;
  bool line_is_empty_ = true;
  bool after_return_ = false;
};

}  // namespace warder::models
