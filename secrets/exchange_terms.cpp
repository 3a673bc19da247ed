// The terms of a grant, as one exchange keeps them: what a model may be asked, and what it may
// cost.
#include <algorithm>

#include "secrets/decision_events.h"
#include "secrets/exchange.h"

namespace warder::secrets {

namespace {

bool isEncoded(const http::RequestHead& head) {
  const auto encodings = http::listField(head.fields, "content-encoding");
  return std::any_of(encodings.begin(), encodings.end(),
                     [](const std::string& encoding) { return encoding != "identity"; });
}

}  // namespace

void Exchange::readTerms() {
  const models::Route& route = verdict_.route;
  if (route.dialect == models::Dialect::None || asked_.head.method != "POST") return;
  if (isEncoded(asked_.head)) {
    Refusal refusal;
    refusal.status = 415;
    refusal.why = "encoded_body";
    refusal.error_type = "invalid_request_error";
    refusal.sentence =
        "Warder's broker must be able to read what a model is asked; send the body without "
        "Content-Encoding";
    refuse(std::move(refusal));
    return;
  }
  models::JudgeRules rules;
  rules.dialect = route.dialect;
  rules.path_model = verdict_.model;
  rules.models = verdict_.lease->grant->terms.models;
  rules.provider_fetch = verdict_.lease->grant->terms.provider_fetch;
  rules.needs_usage = route.bills && verdict_.lease->budget->needsUsage();
  judge_ = std::make_unique<models::RequestJudge>(
      std::move(rules), [&gate = shared_.gate](std::string& text) { gate.clean(text); });
}

std::string Exchange::modelAsked() const {
  return judge_ && !judge_->model().empty() ? judge_->model() : verdict_.model;
}

/// A limit that was reached refuses the call before anything is sent. Whether the model has a price
/// is known when the body was read; a long one is asked again then.
bool Exchange::enterBudget() {
  models::Budget& budget = *verdict_.lease->budget;
  const std::string model = modelAsked();
  models::BudgetQuestion question;
  question.model = model;
  question.only_counting = !verdict_.route.bills;
  question.priced = !judged_ || models::costOf(*verdict_.lease->provider, model, {}).has_value();
  const auto refused = budget.mayStart(question);
  if (refused) {
    Refusal refusal;
    refusal.why = "budget_" + std::string(models::nameOf(refused->cap));
    refusal.sentence = refused->sentence;
    refusal.retry = refused->passing;
    if (refused->passing) refusal.status = 503;
    if (refused->passing) refusal.error_type = "overloaded_error";
    refuse(std::move(refusal));
    return false;
  }
  budget_call_ = budget.started(question.only_counting);
  return true;
}

std::optional<double> Exchange::costSoFar() const {
  if (!meter_ || !verdict_.route.bills) return 0.0;
  const std::string& named = meter_->model();
  return models::costOf(*verdict_.lease->provider, named.empty() ? modelAsked() : named,
                        meter_->usage());
}

/// While an answer streams: false when what it used went over a hard limit, and it is cut.
bool Exchange::keepBudget() {
  if (!lent() || !meter_) return true;
  models::Budget& budget = *verdict_.lease->budget;
  budget_call_.used(meter_->usage(), costSoFar());
  emitMarks(shared_, *verdict_.lease);
  if (!answer_body_ || answer_body_->complete()) return true;
  const auto over = budget.overCap();
  if (!over) return true;
  failUpstream("budget", over->sentence);
  return false;
}

void Exchange::leaveBudget() {
  if (!lent()) return;
  using Ending = models::BudgetCall::Ending;
  const bool paid = verdict_.route.bills && (answer_started_ ? answer_.status < 400 : body_sent_);
  const bool told = meter_ && meter_->usageTold();
  if (paid)
    budget_call_.finished(told ? Ending::Counted : Ending::Uncounted);
  else
    budget_call_.finished(Ending::Free);
  emitMarks(shared_, *verdict_.lease);
}

/// The first cause counts.
void Exchange::refuse(Refusal refusal) {
  shared_.gate.clean(refusal.sentence);
  if (!refusal_) refusal_ = std::move(refusal);
}

void Exchange::refuseBody(std::string sentence) {
  refuse(badRequest({400, std::move(sentence)}));
}

}  // namespace warder::secrets
