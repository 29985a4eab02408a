// SPDX-License-Identifier: Apache-2.0
#include "libsten/report/page.h"

namespace sten {

// Colours of text have a contrast of at least 4.5 to all backgrounds they are on.
const char* const page_style = R"(
:root{color-scheme:light dark;--text:#1f2328;--soft:#59636e;--back:#f6f8fa;--card:#fff;--line:#d1d9e0;
--head:#eef1f4;--hover:#f0f6ff;--accent:#0060a8;--good:#0f6b3c;--bad:#b3261e;--bad-back:#fdecea}
@media screen and (prefers-color-scheme:dark){:root{--text:#f0f3f6;--soft:#a8b1bb;--back:#0b0e13;
--card:#14181f;--line:#2f3742;--head:#1d232c;--hover:#1a2533;--accent:#6cb6ff;--good:#4cc38a;
--bad:#ff8f85;--bad-back:#2b1614}}
*{box-sizing:border-box}
body{margin:0;background:var(--back);color:var(--text);font:15px/1.5 system-ui,-apple-system,
'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;-webkit-text-size-adjust:100%}
main{max-width:1080px;margin:0 auto;padding:32px 20px 64px}
header p{margin:0}
h1{font-size:26px;line-height:1.25;margin:2px 0 0;font-weight:650;letter-spacing:-.01em;
overflow-wrap:anywhere}
h2{font-size:17px;line-height:1.3;margin:36px 0 12px;font-weight:650}
h2 .soft{font-weight:400;font-size:15px}
.soft{color:var(--soft)}
.failed{margin:18px 0 0;padding:12px 16px;border-radius:8px;border:1px solid var(--bad);
background:var(--bad-back);overflow-wrap:anywhere}
.failed b{color:var(--bad)}
code{font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}
.figures,.chart,.scroll,.facts,.notes{background:var(--card);border:1px solid var(--line);
border-radius:10px}
.figures{display:flex;flex-wrap:wrap;gap:1px;margin:22px 0 0;padding:0;overflow:hidden;
background:var(--line)}
.figures>div{flex:1 1 176px;background:var(--card);padding:14px 18px 16px}
.figures dt{color:var(--soft);font-size:13px}
.figures dd{margin:0;overflow-wrap:anywhere}
.figures .value{font-size:26px;line-height:1.3;font-weight:650;letter-spacing:-.01em;
font-variant-numeric:tabular-nums}
.figures .change{font-size:13px;color:var(--soft);font-variant-numeric:tabular-nums}
.change span{white-space:nowrap}
.good{color:var(--good);font-weight:600}
.bad{color:var(--bad);font-weight:600}
.chart{padding:4px;margin:16px 0 0;overflow:hidden}
.figures+.chart{margin-top:20px}
.chart svg{display:block}
.chart>div>svg{width:100%;height:auto}
.chart .narrow,.chart .medium{display:none}
.scroll{overflow:auto;max-height:80vh}
.scroll:focus-visible,button:focus-visible{outline:2px solid var(--accent);outline-offset:-2px}
table{border-collapse:separate;border-spacing:0;width:100%;font-size:13px;
font-variant-numeric:tabular-nums}
h2+p{margin:-6px 0 10px;font-size:14px;overflow-wrap:anywhere}
th,td{padding:7px 14px;text-align:left;font-weight:400;border-bottom:1px solid var(--line);
white-space:nowrap;background:var(--card)}
.name{white-space:normal;overflow-wrap:anywhere;min-width:14em;max-width:34em}
.num{text-align:right}
thead th{position:sticky;top:0;background:var(--head);z-index:2;font-weight:600;color:var(--text)}
tbody th,tfoot th{position:sticky;left:0;z-index:1}
thead th:first-child{left:0;z-index:3}
tfoot th,tfoot td{position:sticky;bottom:0;background:var(--head);font-weight:600;border-bottom:0;
border-top:1px solid var(--line);z-index:1}
tfoot th{z-index:2}
tbody tr:last-child>*{border-bottom:0}
tbody tr:hover>*{background:var(--hover)}
th button{all:unset;cursor:pointer;font:inherit;color:inherit;white-space:nowrap}
th button:hover{color:var(--accent)}
th button::after{content:'\2195';display:inline-block;width:1.1em;text-align:right;color:var(--soft)}
th[aria-sort=ascending] button::after{content:'\2191';color:var(--accent)}
th[aria-sort=descending] button::after{content:'\2193';color:var(--accent)}
.notes{margin:0;padding:12px 18px 12px 36px;max-height:26em;overflow:auto}
.notes li{overflow-wrap:anywhere;padding:2px 0}
.facts{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:4px 24px;margin:0;
padding:14px 18px;font-size:14px}
.facts dt{color:var(--soft)}
.facts dd{margin:0;overflow-wrap:anywhere;font-variant-numeric:tabular-nums}
@media (max-width:1000px){.chart .wide{display:none}.chart .medium{display:block}}
@media (max-width:600px){main{padding:20px 12px 40px}h1{font-size:21px}h2{margin:28px 0 10px}
.chart .medium{display:none}.chart .narrow{display:block}
.facts{grid-template-columns:minmax(0,1fr);gap:0}.facts dd{margin-bottom:8px}
.figures>div{flex-basis:45%;min-width:0;padding:10px 12px 12px}.figures .value{font-size:21px}
th,td{padding:6px 10px}.name{min-width:11em}tbody th{position:static}
thead th:first-child,tfoot th{left:auto}}
@media print{:root{--text:#000;--soft:#444;--back:#fff;--card:#fff;--line:#bbb;--head:#eee}
main{max-width:none;padding:0}.scroll,.notes{max-height:none;overflow:visible;border:0}
.chart,.figures,.facts,tr{break-inside:avoid}h2{break-after:avoid}
th,td,thead th,tbody th,tfoot th,tfoot td{position:static;padding:3px 5px}table{font-size:10px}
tfoot{display:table-row-group}th button::after{content:''}}
)";

}  // namespace sten
