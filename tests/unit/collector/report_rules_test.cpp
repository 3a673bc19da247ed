#include "collector/report_rules.h"

#include <gtest/gtest.h>

namespace warder::collector {
namespace {

json::object reportOf(std::string_view outcome_class, std::uint64_t last_seq) {
  return {{"schema", "warder.run-report/1"},
          {"outcome", {{"class", outcome_class}, {"reason", "completed"}}},
          {"artifacts", json::array()},
          {"events", {{"last_seq", last_seq}}}};
}

json::object journalOf(std::string_view outcome_class, std::uint64_t finished_seq) {
  return {{"finished_seq", finished_seq}, {"outcome", {{"class", outcome_class}}}};
}

TEST(ReportRules, TakeTheSeqUpToTheLargestExactNumber) {
  EXPECT_EQ(faultOfReport(reportOf("ok", 9007199254740992u)), "");
  EXPECT_NE(faultOfReport(reportOf("ok", 9007199254740993u + 1)), "");
  EXPECT_EQ(lastSeqOf(reportOf("ok", 9007199254740992u)), 9007199254740992u);
}

TEST(ReportRules, LetAReportWaitForAJournalWithoutEnd) {
  EXPECT_EQ(contradictionOf({}, 3, reportOf("ok", 4)), "");
  EXPECT_EQ(contradictionOf({}, 3, reportOf("ok", 0)), "");
  EXPECT_NE(contradictionOf({}, 4, reportOf("ok", 4)), "") << "line 4 is here and is no end";
}

TEST(ReportRules, CompareTheEndAndTheOutcomeWithTheJournal) {
  EXPECT_EQ(contradictionOf(journalOf("ok", 4), 5, reportOf("ok", 4)), "") << "a seal follows";
  EXPECT_EQ(contradictionOf(journalOf("ok", 4), 5, reportOf("ok", 5)),
            "the report says that the run ended with line 5, its journal ends with line 4");
  EXPECT_EQ(contradictionOf(journalOf("ok", 4), 5, reportOf("agent", 4)),
            "the report says that the run ended as \"agent\", its journal says \"ok\"");
  EXPECT_EQ(contradictionOf(journalOf("", 4), 5, reportOf("ok", 4)),
            "the run.finished of the journal names no outcome class");
  EXPECT_LE(contradictionOf(journalOf("ok", 4), 5, reportOf(std::string(5000, 'x'), 4)).size(),
            200u);
}

}  // namespace
}  // namespace warder::collector
