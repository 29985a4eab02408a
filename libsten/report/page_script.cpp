// SPDX-License-Identifier: Apache-2.0
#include "libsten/report/page.h"

namespace sten {

// Numbers sort in descending order first; a second click reverses the order. Rows without a number
// stay last.
const char* const page_script = R"(
for (const table of document.querySelectorAll('table')) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const number = head.classList.contains('num');
    const key = row => row.cells[column].dataset.v ?? row.cells[column].textContent;
    const button = document.createElement('button');
    button.type = 'button';
    button.title = 'Sort';
    button.append(...head.childNodes);
    head.append(button);
    button.onclick = () => {
      const before = head.getAttribute('aria-sort');
      const up = before ? before === 'descending' : !number;
      for (const h of head.parentNode.cells) h.removeAttribute('aria-sort');
      head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      const rows = [...body.rows].sort((a, b) => {
        const x = key(a), y = key(b);
        const empty = number ? (x === '') - (y === '') : 0;
        if (empty) return empty;
        const order = number ? x - y : x.localeCompare(y, 'en', {numeric: true});
        return up ? order : -order;
      });
      body.append(...rows);
    };
  });
}
)";

}  // namespace sten
