"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const PAGE = 20; // texts
  const COLUMNS = 6; // metrics that a table beside the tokens may have
  const $ = (id) => document.getElementById(id);
  const arrow = { higher: "↑", lower: "↓" };
  let chosen = data.texts.map((_, i) => i), first = 0;

  const element = (name, className, text) => {
    const made = document.createElement(name);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };
  const option = (value, text) => {
    const made = element("option", "", text);
    made.value = value;
    return made;
  };
  const number = (x) => (x === null ? "–" : x.toFixed(3).replace("-", "−"));
  const score = (text, a, k) => (text.scores[a][k] * text.largest[a]) / data.levels;
  const signed = (x) => (x === 0 ? "0" : (x > 0 ? "+" : "−") + Math.abs(x).toPrecision(3));
  const checked = (id) => [...$(id).children].map((_, i) => i).filter((i) => $(id).children[i].firstChild.checked);
  const shown = () => checked("shown"), measured = () => checked("measured");

  // Controls
  $("about").textContent = data.about;
  const metricText = (m) => `${m.label} ${arrow[m.better]}`;
  const outcomes = [...new Set(data.texts.map((t) => t.predicted))].filter((p) => p !== "").sort();
  $("predicted").append(option("", "all"), ...outcomes.map((p) => option("=" + p, p)));
  $("predicted").parentNode.hidden = outcomes.length < 2;
  $("right").parentNode.hidden = data.texts.every((t) => t.right === null);
  $("sort").append(option("", "order of the data"), ...data.metrics.map((m, i) => option(i, metricText(m))));
  $("of").append(option("", "mean of the attributions"), ...data.attributions.map((a, i) => option(i, a)));
  const boxes = (id, names) => names.forEach((name) => {
    const label = element("label"), box = element("input");
    box.type = "checkbox";
    box.checked = true;
    label.append(box, " " + name);
    $(id).append(label);
  });
  boxes("shown", data.attributions);
  boxes("measured", data.metrics.map((m) => m.label));

  // Means: a row for each metric, a column for each attribution
  const summary = () => {
    const head = element("tr"), rows = measured().map((m) => {
      const row = element("tr");
      row.append(element("th", "", metricText(data.metrics[m])));
      row.firstChild.scope = "row";
      shown().forEach((a) => {
        const found = data.summary.find((s) => s[0] === a && s[1] === m);
        const [, , n, none, value, low, high, better, flag] = found || [0, 0, 0, 0, null, null, null, null, ""];
        const interval = low === null ? "" : ` [${number(low)}, ${number(high)}]`;
        const preferred = better === null ? "" : `, diagnosticity ${number(better)}`;
        const cell = element("td", "", number(value) + interval);
        cell.append(element("small", "", ` n ${n}${none ? `, ${none} void` : ""}${preferred}`));
        cell.title = flag;
        row.append(cell);
      });
      return row;
    });
    head.append(element("th", "", "metric"), ...shown().map((a) => element("th", "", data.attributions[a])));
    $("summary").lastChild.replaceChildren(head, ...rows);
    $("summary").hidden = !data.summary.length;
  };

  // A view is a link: the values of all controls
  const controls = [...document.querySelectorAll("#controls input, #controls select")];
  const state = (c) => (c.type === "checkbox" ? Number(c.checked) : c.value);
  const view = () => new URLSearchParams([...controls.map((c, i) => [i, state(c)]), ["first", first]]);
  const reopen = () => {
    const given = new URLSearchParams(location.hash.slice(1));
    controls.forEach((c, i) => {
      if (!given.has(String(i))) return;
      if (c.type === "checkbox") c.checked = given.get(String(i)) === "1";
      else c.value = given.get(String(i));
    });
    return Number(given.get("first")) || 0;
  };
  const quoted = (x) => `"${String(x).replace(/"/g, '""').replace(/^(?=[=+@-])/, "'")}"`;
  const csv = () => {
    const lines = [["text", "target", "attribution", "metric", "value"].map(quoted).join(",")];
    chosen.forEach((i) => shown().forEach((a) => measured().forEach((m) => {
      const t = data.texts[i], value = t.values[a][m];
      const about = [t.text, t.target, data.attributions[a], data.metrics[m].label].map(quoted);
      lines.push([...about, value === null ? "" : value].join(","));
    })));
    const link = element("a");
    link.href = URL.createObjectURL(new Blob([lines.join("\n")], { type: "text/csv" }));
    link.download = "values.csv";
    link.click();
  };

  const narrow = matchMedia("(max-width: 52rem)");
  const stack = () => $("texts").classList.toggle("stacked", narrow.matches || measured().length > COLUMNS);
  narrow.addEventListener("change", stack);
  stack();

  // What a text is sorted by: larger is better; null where there is no value
  const key = (text) => {
    const m = Number($("sort").value), of = $("of").value;
    const rows = of === "" ? text.values : [text.values[Number(of)]];
    const known = rows.map((row) => row[m]).filter((v) => v !== null);
    if (!known.length) return null;
    const mean = known.reduce((a, b) => a + b, 0) / known.length;
    return data.metrics[m].better === "higher" ? mean : -mean;
  };
  const update = (start = 0) => {
    const wanted = $("search").value.toLowerCase(), predicted = $("predicted").value, right = $("right").value;
    chosen = data.texts.map((_, i) => i).filter((i) => {
      const t = data.texts[i];
      return t.text.toLowerCase().includes(wanted) && (predicted === "" || "=" + t.predicted === predicted) &&
        (right === "" || t.right === (right === "1"));
    });
    if ($("sort").value !== "") {
      const keys = data.texts.map(key), way = Number($("order").value);
      chosen.sort((a, b) => (keys[a] === null) - (keys[b] === null) || way * (keys[b] - keys[a]) || a - b);
    }
    $("of").disabled = $("order").disabled = $("sort").value === "";
    first = start < chosen.length ? start : 0;
    stack();
    summary();
    draw();
  };

  // Texts
  const heat = (text, a) => {
    const cell = element("td", "heat");
    cell.tabIndex = 0;
    cell.setAttribute("role", "group");
    cell.setAttribute("aria-label", `${data.attributions[a]}: ${text.tokens.join(" ")}`);
    text.tokens.forEach((token, k) => {
      const kind = text.kinds[k], value = text.scores[a][k] / data.levels;
      const span = element("span", "t" + (kind === "o" ? " o" : value < 0 ? " n" : " p") + (kind === "j" ? " j" : "") +
        (text.kinds[k + 1] === "j" ? " b" : ""), token);
      if (kind !== "o") span.style.setProperty("--s", Math.abs(value).toFixed(2));
      span.dataset.k = k;
      if (kind !== "j") cell.append(element("wbr")); // a line may break here
      cell.append(span);
    });
    return cell;
  };
  // p of the target as the highest tokens are masked: a small curve for each attribution
  const drawn = (name, of) => {
    const made = document.createElementNS($("plot").namespaceURI, name);
    Object.entries(of).forEach(([key, value]) => made.setAttribute(key, value));
    return made;
  };
  const curves = (text, rows) => rows.filter((a) => text.curves[a].length).map((a) => {
    const p = text.curves[a], low = Math.min(0, ...p), point = (y, k) => `${(k * 90) / (p.length - 1)},${32 - (30 * (y - low)) / (1 - low)}`;
    const figure = element("figure"), plot = drawn("svg", { viewBox: "-2 0 94 34", role: "img" });
    plot.setAttribute("aria-label", `p as the highest tokens of ${data.attributions[a]} are masked: ${p.map(number).join(", ")}`);
    plot.append(drawn("polyline", { points: p.map(point).join(" ") }));
    const never = data.flip !== null && text.values[a][data.flip] === 1 ? ", never flips" : "";
    figure.append(plot, element("figcaption", "", `${data.attributions[a]}: p ${number(p[0])} → ${number(p[p.length - 1])}${never}`));
    return figure;
  });
  const article = (i) => {
    const text = data.texts[i], made = element("article"), table = element("table");
    const p = text.p === null ? "" : ` (p ${number(text.p)})`;
    const facts = [text.target && `target ${text.target}${p}`, text.predicted && text.predicted !== text.target &&
      `predicted ${text.predicted}`, text.gold && `label ${text.gold}`, text.right === null ? "" : text.right ?
      "right" : "wrong"].filter(Boolean).join(", ");
    made.dataset.i = i;
    made.append(element("h2", "", `Text ${i + 1}`), element("p", "facts", facts));
    const head = element("tr"), body = element("tbody"), rows = shown();
    for (const [name, className] of [["attribution", ""], ["tokens", "heat"]]) {
      const cell = element("th", className, name);
      cell.scope = "col";
      if (className === "") cell.style.textAlign = "left";
      head.append(cell);
    }
    const best = data.metrics.map((m, j) => {
      const known = rows.map((a) => text.values[a][j]).filter((v) => v !== null);
      return known.length > 1 ? (m.better === "higher" ? Math.max : Math.min)(...known) : undefined;
    });
    measured().forEach((m) => {
      const cell = element("th", "", metricText(data.metrics[m]));
      cell.scope = "col";
      head.append(cell);
    });
    rows.forEach((a) => {
      const row = element("tr"), name = element("th", "", data.attributions[a]);
      name.scope = "row";
      row.append(name, heat(text, a));
      measured().forEach((j) => {
        const value = text.values[a][j], cell = element("td", value === best[j] ? "best" : "", number(value));
        cell.dataset.label = metricText(data.metrics[j]);
        row.append(cell);
      });
      body.append(row);
    });
    const top = element("thead");
    top.append(head);
    table.append(top, body);
    made.append(table, ...curves(text, rows));
    return made;
  };
  const draw = () => {
    $("texts").replaceChildren(...chosen.slice(first, first + PAGE).map(article));
    const last = Math.min(first + PAGE, chosen.length);
    $("count").textContent = chosen.length ? `texts ${first + 1} to ${last} of ${chosen.length}` : "no text fits";
    $("previous").disabled = first === 0;
    $("next").disabled = last === chosen.length;
    $("link").href = "#" + view();
  };
  const turn = (by) => {
    first += by * PAGE;
    draw();
    $("texts").scrollIntoView();
  };

  // The scores of one token
  const read = (place, k) => {
    document.querySelectorAll(".at").forEach((span) => span.classList.remove("at"));
    place.querySelectorAll(`[data-k="${k}"]`).forEach((span) => span.classList.add("at"));
    const text = data.texts[Number(place.dataset.i)];
    const scores = text.kinds[k] === "o" ? "not scored" :
      shown().map((a) => `${data.attributions[a]} ${signed(score(text, a, k))}`).join(" · ");
    $("reading").textContent = `${text.tokens[k]} (token ${k + 1} of ${text.tokens.length}): ${scores}`;
  };
  $("texts").addEventListener("mouseover", (event) => {
    const span = event.target.closest(".t");
    if (span) read(span.closest("article"), Number(span.dataset.k));
  });
  $("texts").addEventListener("keydown", (event) => {
    const cell = event.target.closest("td.heat");
    if (!cell || !["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) return;
    event.preventDefault();
    const last = cell.querySelectorAll(".t").length - 1, now = cell.querySelector(".at");
    const at = now ? Number(now.dataset.k) : -1;
    const to = { ArrowLeft: at - 1, ArrowRight: at + 1, Home: 0, End: last }[event.key];
    read(cell.closest("article"), Math.max(0, Math.min(last, to)));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/INPUT|SELECT/.test(document.activeElement.tagName)) {
      event.preventDefault();
      $("search").focus();
    }
  });
  $("controls").addEventListener("submit", (event) => event.preventDefault());
  $("controls").addEventListener("input", (event) => {
    if (event.target.id === "theme") document.documentElement.dataset.theme = event.target.value;
    else update();
  });
  $("previous").addEventListener("click", () => turn(-1));
  $("next").addEventListener("click", () => turn(1));
  $("csv").addEventListener("click", csv);
  addEventListener("hashchange", () => update(reopen()));
  update(reopen());
})();
