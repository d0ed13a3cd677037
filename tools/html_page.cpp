#include "tools/html_page.h"

#include "tools/svg.h"

namespace zoetrope {
namespace {

constexpr const char kStyle[] = R"css(
:root{color-scheme:light dark;--page:#fbfbf9;--card:#fff;--ink:#1d2327;--soft:#5d6770;--rule:#d9dcde;--grid:#e8eaeb;
--w0:#1f5f87;--w1:#3f88b0;--w2:#6fadcc;--w3:#2f9c95;--wait:#d9606f;--transfer:#e9a23b;--sum:#9aa3aa;--bound:#111;
--memory:#7a8fb8;--mark:#eef5f9;--s0:#2a6f97;--s1:#e0852b;--s2:#2f8f5b;--s3:#8e5ea2;--s4:#c8444f;--s5:#6b7680}
@media(prefers-color-scheme:dark){:root{--page:#14181b;--card:#1b2024;--ink:#e7eaec;--soft:#9ba6ae;--rule:#343b41;
--grid:#2a3036;--w0:#3f88b8;--w1:#62a8d0;--w2:#2f6a92;--w3:#3aa8a0;--wait:#e4606f;--transfer:#e5a84d;--sum:#6c757c;
--bound:#fff;--memory:#7f95c4;--mark:#20303a;--s0:#62a8d0;--s1:#eb9a4b;--s2:#58b584;--s3:#b48ac6;--s4:#e4707a;--s5:#a0abb3}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:15px/1.5 system-ui,"Segoe UI","Helvetica Neue",Arial,sans-serif}
main{max-width:1160px;margin:0 auto;padding:28px 24px 48px}
h1{font-size:25px;line-height:1.25;margin:0 0 2px}h2{font-size:18px;margin:34px 0 8px}h3{font-size:15px;margin:22px 0 2px}
p{margin:6px 0}.soft{color:var(--soft)}.small{font-size:13px}
.card{background:var(--card);border:1px solid var(--rule);border-radius:8px;padding:14px 18px;margin:14px 0}
.verdict{border-left:5px solid var(--s5)}.verdict.pays{border-left-color:var(--s2)}
.verdict strong{font-size:17px}.verdict ul{margin:8px 0 2px;padding-left:22px}
dl{display:grid;grid-template-columns:max-content 1fr;gap:3px 18px;margin:0}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-nums}
th,td{padding:5px 7px;text-align:left;border-bottom:1px solid var(--grid);white-space:nowrap}
th{color:var(--soft);font-weight:600;white-space:normal;line-height:1.25;border-bottom-color:var(--rule);vertical-align:bottom}.n{text-align:right}
tr.marked td{background:var(--mark);font-weight:600}td.bar{width:150px;min-width:110px;padding:0 7px;height:27px}
td.bar svg{display:block;width:100%;height:27px}td.long{white-space:normal;overflow-wrap:anywhere;min-width:130px}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(310px,100%),1fr));gap:12px 22px}
.charts h3{margin:12px 0 0}.charts p{margin:0;font-size:13px}
.strips{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(330px,100%),1fr));gap:16px 18px;align-items:start}
figure{margin:0;min-width:0}figure img{display:block;width:100%;height:auto;max-height:150px;object-fit:contain;object-position:left}
figcaption{font-size:13px;line-height:1.35;margin-top:4px;overflow-wrap:anywhere}figcaption b{font-weight:600}
.parts{display:block;width:100%;height:14px;margin:2px 0 10px;border-radius:4px}
h1{overflow-wrap:anywhere}li{overflow-wrap:anywhere}
.chart{display:block;width:100%;height:auto;margin:4px 0}.tick{font-size:12px;fill:var(--soft)}
.mid{text-anchor:middle}.end{text-anchor:end}.grid{stroke:var(--grid);fill:none}
.bound{stroke:var(--bound);stroke-width:1.5;stroke-dasharray:4 3;fill:none}.boundtext{fill:var(--ink)}
.cap{stroke:var(--wait);stroke-width:1.5;stroke-dasharray:6 3;fill:none}.captext{fill:var(--wait)}
.w0{fill:var(--w0)}.w1{fill:var(--w1)}.w2{fill:var(--w2)}.w3{fill:var(--w3)}
.w0.fw{fill:color-mix(in srgb,var(--w0) 70%,var(--card))}.w1.fw{fill:color-mix(in srgb,var(--w1) 70%,var(--card))}
.w2.fw{fill:color-mix(in srgb,var(--w2) 70%,var(--card))}.w3.fw{fill:color-mix(in srgb,var(--w3) 70%,var(--card))}
.ground{fill:var(--w1)}
.wait{fill:var(--wait)}.transfer{fill:var(--transfer)}.sum{fill:var(--sum)}.optimizer{fill:var(--s4)}.memory{fill:var(--memory)}
.s0{fill:var(--s0)}.s1{fill:var(--s1)}.s2{fill:var(--s2)}.s3{fill:var(--s3)}.s4{fill:var(--s4)}.s5{fill:var(--s5)}
.line{fill:none;stroke-width:2}.l0{stroke:var(--s0)}.l1{stroke:var(--s1)}.l2{stroke:var(--s2)}.l3{stroke:var(--s3)}
.l4{stroke:var(--s4)}.l5{stroke:var(--s5)}text.t0{fill:var(--s0)}text.t1{fill:var(--s1)}text.t2{fill:var(--s2)}
text.t3{fill:var(--s3)}text.t4{fill:var(--s4)}text.t5{fill:var(--s5)}
.key{display:inline-block;margin:0 16px 0 0;font-size:13px;color:var(--soft)}.key svg{width:12px;height:12px;vertical-align:-1px;margin-right:6px}
details{margin:8px 0}summary{cursor:pointer;color:var(--soft)}pre{white-space:pre-wrap;font-size:12.5px}
)css";

}  // namespace

std::string html_page(const std::string& title, const std::string& body) {
  return "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/><title>" +
         escape_html(title) + "</title>\n<style>" + kStyle + "</style></head>\n<body><main>\n" + body +
         "</main></body></html>\n";
}

std::string html_table(const std::vector<std::string>& heading,
                       const std::vector<std::vector<HtmlCell>>& rows, int marked) {
  std::string html = "<div class=\"wide\"><table><thead><tr>";
  for (size_t i = 0; i < heading.size(); ++i) {
    const bool number = !rows.empty() && i < rows[0].size() && rows[0][i].is_number;
    html += std::string(number ? "<th class=\"n\">" : "<th>") + escape_html(heading[i]) + "</th>";
  }
  html += "</tr></thead><tbody>\n";
  for (size_t r = 0; r < rows.size(); ++r) {
    html += int(r) == marked ? "<tr class=\"marked\">" : "<tr>";
    for (const HtmlCell& cell : rows[r]) {
      html += cell.is_long     ? "<td class=\"long\">"
              : cell.is_html   ? "<td class=\"bar\">"
              : cell.is_number ? "<td class=\"n\">"
                               : "<td>";
      html += (cell.is_html ? cell.content : escape_html(cell.content)) + "</td>";
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string html_key(const char* style, const std::string& what) {
  return std::string("<span class=\"key\"><svg viewBox=\"0 0 12 12\"><rect class=\"") + style +
         "\" width=\"12\" height=\"12\" rx=\"2\"/></svg>" + escape_html(what) + "</span>";
}

}  // namespace zoetrope
