//! The page in a real browser: it opens offline without messages on the console, sorts, searches and zooms, and fits
//! every screen.

#[path = "../support/mod.rs"]
mod support;
mod webdriver;

use std::fs;
use std::path::Path;

use opscope_report::Report;
use serde_json::{Value, json};
use support::{HOSTILE, dump, layered, model, page, record, record_graph, summary};
use tempfile::TempDir;
use webdriver::Browser;

/// Returns a page of a run with everything: a recording, a dump and a summary.
fn whole_page(root: &Path) -> String {
    let mut operators = layered(60);
    operators.extend(HOSTILE.iter().map(|name| ((*name).to_owned(), "Add")));
    record(&root.join("profiler/first"), &operators, 60);
    let values: Vec<_> = HOSTILE.iter().map(|name| (*name, *name, 0, 1)).chain([("c", "/three", 5, 0)]).collect();
    dump(&root.join("dump/first"), &values);
    fs::write(root.join("first_summary.json"), summary(&[2.0; 60]).to_string()).expect("a new file");
    page(&[root])
}

/// Opens the page in a browser. If there is none, reports that and returns `None`.
fn opened() -> Option<(TempDir, Browser)> {
    let browser = Browser::start()?;
    let root = tempfile::tempdir().expect("a directory");
    let path = root.path().join("report.html");
    fs::write(&path, whole_page(root.path())).expect("a new file");
    browser.offline();
    browser.open(&path);
    Some((root, browser))
}

#[test]
fn the_page_opens_offline_without_a_message_and_no_hostile_name_is_executed() {
    let Some((_root, browser)) = opened() else { return };
    assert_eq!(browser.console(), [""; 0]);
    assert_eq!(browser.run("return performance.getEntriesByType('resource').length"), json!(0));
    assert_eq!(browser.run("return window.hostile === undefined"), json!(true));
    assert_eq!(browser.run("return document.images.length"), json!(0));
    assert_eq!(browser.run("return document.scripts.length"), json!(1));
    let blocked = "const script = document.createElement('script'); script.textContent = 'window.hostile = 1'; \
                   document.body.append(script); return window.hostile === undefined";
    assert_eq!(browser.run(blocked), json!(true), "the policy allows no other script");
}

#[test]
fn tables_are_sorted_and_searched() {
    let Some((_root, browser)) = opened() else { return };
    let first = "return document.querySelector('#r1-operators-table tbody tr:not([hidden])').cells";
    let press = |title: &str| {
        browser.run(&format!(
            "for (const button of document.querySelectorAll('#r1-operators-table thead button')) \
             if (button.textContent === '{title}') button.click()"
        ))
    };
    press("Median");
    let down = browser.run("return Array.from(document.querySelectorAll('#r1-operators-table tbody tr'), (row) => Number(row.cells[2].dataset.v))");
    let numbers: Vec<f64> = down.as_array().expect("numbers").iter().filter_map(Value::as_f64).collect();
    assert!(numbers.len() == 65 && numbers.is_sorted_by(|a, b| a >= b), "{numbers:?}");
    press("Median");
    let least = browser.run(&format!("{first}[2].dataset.v")).as_str().and_then(|text| text.parse::<f64>().ok());
    assert_eq!(least, numbers.last().copied());
    let sorted =
        browser.run("return document.querySelector('#r1-operators-table th[aria-sort]').getAttribute('aria-sort')");
    assert_eq!(sorted, json!("ascending"));
    let search = |text: &str| {
        browser.run(&format!(
            "const input = document.getElementById('r1-operators-table-search'); input.value = '{text}'; \
             input.dispatchEvent(new Event('input')); return input.parentElement.querySelector('output').value"
        ))
    };
    assert_eq!(search("layer.1/ MATMUL"), json!("2 of 65 rows"));
    let name = browser.run(&format!("{first}[0].textContent"));
    assert!(name.as_str().is_some_and(|name| name.contains("layer.1/") && name.contains("MatMul")), "{name}");
    assert_eq!(search("window.hostile"), json!("5 of 65 rows"));
    assert_eq!(search(""), json!("65 rows"));
    assert_eq!(browser.console(), [""; 0]);
}

#[test]
fn the_timeline_zooms_by_buttons_keys_and_the_mouse() {
    let Some((_root, browser)) = opened() else { return };
    let shown = || {
        let of = |end: &str| {
            let part = browser.run(&format!("return Number(document.querySelector('figure.timeline').dataset.{end})"));
            part.as_f64().expect("a number")
        };
        (of("from"), of("to"))
    };
    assert_eq!(shown(), (0.0, 1.0));
    browser.run("document.querySelector('[data-zoom=in]').click()");
    assert_eq!(shown(), (0.25, 0.75));
    browser.run("document.querySelector('figure.timeline .view').focus()");
    browser.keys("figure.timeline .view", "+");
    assert_eq!(shown(), (0.375, 0.625));
    browser.keys("figure.timeline .view", "\u{e014}");
    assert_eq!(shown(), (0.4375, 0.6875), "the right arrow moves by a quarter");
    let seen = "return Array.from(document.querySelectorAll('.lane .s')).filter((slot) => slot.style.display !== 'none').length";
    let part = browser.run(seen).as_u64().expect("a number");
    browser.keys("figure.timeline .view", "0");
    let whole = browser.run(seen).as_u64().expect("a number");
    assert!(part > 0 && part * 2 < whole, "{part} of {whole} slots");
    browser.drag("figure.timeline .view", 0.25, 0.5);
    let (from, to) = shown();
    assert!((from - 0.25).abs() < 0.02 && (to - 0.5).abs() < 0.02, "{from} to {to}");
    let said = browser.run("return document.querySelector('figure.timeline > output').value");
    assert!(said.as_str().is_some_and(|said| said.starts_with("Shown: ")), "{said}");
    assert_eq!(browser.console(), [""; 0]);
}

#[test]
fn the_page_fits_every_screen_has_names_for_a_screen_reader_and_prints_everything() {
    let Some((_root, browser)) = opened() else { return };
    for width in [360, 768, 1280, 2560] {
        for scheme in ["light", "dark"] {
            browser.screen(width, scheme);
            let wide = browser.run("return document.documentElement.scrollWidth").as_u64().expect("a number");
            assert!(wide <= width, "the page is {wide} wide on a screen of {width}");
            assert_eq!(browser.run(CONTRAST), json!([]), "texts that cannot be read, {width} px, {scheme}");
        }
    }
    assert_eq!(browser.run(UNNAMED), json!([]), "controls and pictures without a name");
    assert_eq!(browser.run("return document.querySelectorAll('header, nav, main, footer').length"), json!(4));
    assert_eq!(
        browser.run("return document.querySelectorAll('table:not(:has(thead th[scope=col]))').length"),
        json!(0)
    );
    let print = browser.command("Emulation.setEmulatedMedia", &json!({ "media": "print" }));
    assert!(print.is_object(), "{print}");
    assert_eq!(browser.run("return getComputedStyle(document.querySelector('nav')).display"), json!("none"));
    let hidden = "return Array.from(document.querySelectorAll('.scroll')).filter((part) => part.scrollHeight > part.clientHeight + 1).length";
    assert_eq!(browser.run(hidden), json!(0), "no row is cut off on paper");
}

/// Opens the page of a model of many modules, with its graph.
fn opened_graph() -> Option<(TempDir, Browser)> {
    let browser = Browser::start()?;
    let root = tempfile::tempdir().expect("a directory");
    let operators: Vec<_> =
        layered(200).into_iter().chain(HOSTILE.iter().map(|name| ((*name).to_owned(), "Add"))).collect();
    let graph = model(&root.path().join("made.onnx"), &operators);
    record_graph(&root.path().join("recording"), &graph, 5);
    let mut report = Report::read(&[root.path().join("recording")], &|_| {}).expect("a recording");
    report.draw_graphs(&[]).expect("nothing is given");
    let path = root.path().join("report.html");
    report.write(&path).expect("a new file");
    browser.offline();
    browser.open(&path);
    Some((root, browser))
}

#[test]
fn modules_of_the_graph_unfold_by_the_mouse_and_by_keys_and_nothing_overlaps() {
    let Some((_root, browser)) = opened_graph() else { return };
    let seen = || {
        browser.run("return Array.from(document.querySelectorAll('.model .n')).filter((node) => node.getClientRects().length).length")
    };
    let folded = seen().as_u64().expect("a number");
    assert!((3..=36).contains(&folded), "{folded} nodes at first");
    browser.run("document.querySelector('.model .m').dispatchEvent(new MouseEvent('click', { bubbles: true }))");
    let unfolded = seen().as_u64().expect("a number");
    assert!(unfolded > folded, "{unfolded} nodes behind a press");
    let about = "return document.querySelector('.graph .about output').textContent";
    assert!(
        browser.run(about).as_str().is_some_and(|text| text.contains("operators") && text.contains("of a run's time"))
    );
    assert_eq!(browser.run(OVERLAPPING), json!([]));
    browser.keys("figure.graph .sheet", "\u{e007}");
    assert_eq!(seen().as_u64(), Some(folded), "Enter folds it");
    browser.keys("figure.graph .sheet", "\u{e015}");
    let chosen = browser.run("return document.querySelectorAll('.model .n.on').length");
    assert_eq!(chosen, json!(1), "an arrow goes to another node");
    browser.run("document.querySelector('[data-find=time]').click()");
    let slowest = "const node = document.querySelector('.model .n.on'); return node.dataset.most === 'time' && node.getClientRects().length > 0";
    assert_eq!(browser.run(slowest), json!(true), "the slowest operator is shown within its modules");
    assert_eq!(browser.run(OVERLAPPING), json!([]));
    browser.run("document.querySelector('[data-graph=fold]').click()");
    assert_eq!(seen().as_u64(), Some(folded));
    assert_eq!(browser.run("return window.hostile === undefined"), json!(true));
    assert_eq!(browser.console(), [""; 0]);
}

/// A script that finds nodes of the graph that overlap although neither is inside the other.
const OVERLAPPING: &str = "
    const nodes = Array.from(document.querySelectorAll('.model .n')).filter((node) => node.getClientRects().length);
    const area = (node) => node.querySelector(':scope > rect').getBoundingClientRect();
    const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
    return nodes.flatMap((a) => nodes.filter((b) => a !== b && !a.contains(b) && !b.contains(a) && over(area(a), area(b))).map(() => a.textContent));
";

/// A script that finds texts with less contrast to their background than the 4.5 to 1 of WCAG 2.1, AA.
const CONTRAST: &str = "
    const parse = (color) => { const [r, g, b, a = 1] = color.match(/[0-9.]+/g).map(Number); return { r, g, b, a }; };
    const part = (value) => { const s = value / 255; return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; };
    const light = ({ r, g, b }) => 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
    const behind = (element) => {
        for (let at = element; at; at = at.parentElement) {
            const color = parse(getComputedStyle(at).backgroundColor);
            if (color.a === 1) return color;
        }
        return { r: 255, g: 255, b: 255 };
    };
    const bad = new Set();
    for (const element of document.querySelectorAll('body *:not(svg *):not(script)')) {
        const own = Array.from(element.childNodes).some((node) => node.nodeType === 3 && node.data.trim());
        if (!own || !element.getClientRects().length) continue;
        const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        if (contrast < 4.5) bad.add(element.tagName + '.' + element.className + ' ' + contrast.toFixed(2));
    }
    return Array.from(bad);
";

/// A script that finds controls and pictures without a name for screen readers.
const UNNAMED: &str = "
    const named = (element) => element.getAttribute('aria-label') || element.textContent.trim() ||
        (element.getAttribute('aria-labelledby') || '').split(' ').every((id) => id && document.getElementById(id)) ||
        (element.labels && element.labels.length);
    const all = document.querySelectorAll('button, input, a, svg[role=img], [role=region], [role=group], section');
    return Array.from(all).filter((element) => !named(element)).map((element) => element.outerHTML.slice(0, 80));
";
