#include "results/rates_json.h"

#include <nlohmann/json.hpp>

namespace railgauge::results {
namespace {

using Json = nlohmann::ordered_json;

Json term_json(const rates::Term& term) {
  return {{"name", term.name},
          {"gbit_per_s", term.gbit_per_s},
          {"formula", term.formula},
          {"source", term.source},
          {"informational", term.informational}};
}

std::string text_of(const Json& document) { return document.dump(2, ' ', false, Json::error_handler_t::replace) + '\n'; }

}  // namespace

std::string rates_json(const rates::Expectation& expectation, const std::string& link, const std::string& what) {
  Json document = {{"link", link}, {"traffic", what}};
  const auto gbit_per_s = expectation.gbit_per_s();
  document["expected_gbit_per_s"] = gbit_per_s ? Json(*gbit_per_s) : Json(nullptr);
  if (!gbit_per_s) document["expected_gbit_per_s_reason"] = expectation.reason;
  document["limiting_term"] = expectation.limiting ? Json(expectation.terms[*expectation.limiting].name) : Json(nullptr);
  document["wire_limit_only"] = expectation.wire_limit_only;
  document["terms"] = Json::array();
  for (const rates::Term& term : expectation.terms) document["terms"].push_back(term_json(term));
  document["notes"] = expectation.notes;
  return text_of(document);
}

std::string overview_json(const std::vector<rates::OverviewTable>& tables) {
  Json document = {{"tables", Json::array()}};
  for (const rates::OverviewTable& table : tables) {
    Json rows = Json::array();
    for (const rates::OverviewRow& row : table.rows) {
      Json goodput = Json::array();
      for (const auto& [bytes, gbit_per_s] : row.goodput)
        goodput.push_back({{table.column == "MTU" ? "mtu_bytes" : "max_payload_bytes", bytes}, {"gbit_per_s", gbit_per_s}});
      rows.push_back({{"link", row.link}, {"data_gbit_per_s", row.data_gbit_per_s}, {"goodput", goodput}});
    }
    document["tables"].push_back({{"key", table.key}, {"title", table.title}, {"rows", rows}});
  }
  return text_of(document);
}

}  // namespace railgauge::results
