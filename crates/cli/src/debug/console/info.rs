//! Commands that show where a run is, and what runs, operators and models there are.

use anyhow::{Context, Result, bail};
use opscope::debug::protocol::{Backtrace, BacktraceFrame, OperatorRow, ValueInfo};
use opscope::debug::{CodeFrame, Location, ModelId, Target};
use opscope::text::shown_text;
use serde_json::{Value, json};

use super::Console;
use super::execution::has_failed;
use crate::debug::command::Info;
use crate::debug::show::{self, printable};

/// How many lines of a listing are shown at once.
const LINES: usize = 10;

impl Console {
    pub(super) fn info(&self, info: Info) -> Result<()> {
        match info {
            Info::Breakpoints => self.list_breakpoints(),
            Info::Operators(pattern) => self.operators(pattern.as_deref()),
            Info::Operator(target) => self.operator(target.as_ref()),
            Info::Runs => self.runs(),
            Info::Inputs => self.side("inputs", |location| location.inputs.clone()),
            Info::Outputs => self.side("outputs", |location| location.outputs.clone()),
            Info::Weights => self.side("weights", |location| location.weights.clone()),
            Info::Attributes => self.attributes(),
            Info::Events => self.counts(),
            Info::Status => self.status(),
            Info::Model => self.models(),
        }
    }

    /// Reports where the run is.
    pub(super) fn location(&self) -> Result<()> {
        let stop = self.stop()?;
        if has_failed(&stop) {
            let text = show::stopped(&stop, None);
            self.output.result("location", json!({ "event": stop, "location": Value::Null }), text);
            return Ok(());
        }
        let location = self.client.location(stop.sequence)?;
        let seen = printable(&location);
        let place = &seen.place;
        let text = format!(
            "{place}, thread {}\nkernel {} of {}: {} '{}'\n{}",
            stop.thread,
            place.kernel,
            seen.kernels,
            seen.kernel.op,
            seen.kernel.name,
            show::inputs_and_outputs(&seen),
        );
        self.output.result("location", json!({ "event": stop, "location": location }), text);
        Ok(())
    }

    /// Reports the operators that led to where the run is, the newest first.
    pub(super) fn backtrace(&self, most: usize) -> Result<()> {
        let stop = self.stop_in_run()?;
        let Backtrace { frames, total, code } = self.client.backtrace(stop.sequence, most)?;
        let rows = frames.iter().map(printable).map(|frame: BacktraceFrame| {
            let value = frame.value.as_ref().map(|value| format!("made {value}")).unwrap_or_default();
            let source = frame.origin.as_ref().and_then(|origin| origin.source.as_ref());
            let source = source.map(|source| source.place()).unwrap_or_default();
            [format!("#{}", frame.operator), format!("{} ({})", frame.name, frame.op_type), value, source]
        });
        let mut text = show::table(rows);
        let left = total.saturating_sub(frames.len() as u64);
        if left > 0 {
            text.push_str(&format!("\n... and {}; `backtrace {total}` shows all", show::count(left, "earlier one")));
        }
        if let Some(modules) = self.shown_modules(&stop)? {
            text.push_str(&format!("\nin the modules\n{modules}"));
        }
        if !code.is_empty() {
            let rows = code.iter().map(printable).map(|frame: CodeFrame| {
                let line = frame.source.code.clone().unwrap_or_default();
                [format!("  {}", frame.source.place()), format!("in {}", frame.function), line]
            });
            text.push_str(&format!("\nin the program\n{}", show::table(rows)));
        }
        let fields = json!({ "frames": frames, "total": total, "code": code });
        self.output.result("backtrace", fields, text);
        Ok(())
    }

    /// Lists the operators around one.
    pub(super) fn list(&mut self, around: Option<&Target>) -> Result<()> {
        let stop = self.stop().ok();
        let here = stop.as_ref().and_then(|stop| stop.kind.position()).map(|place| place.operator as usize);
        let model_here = self.model();
        let (model, first) = match (around, here, self.listing) {
            (Some(target), ..) => {
                let model = model_here?;
                (model, self.first_of(model, target)?.0.index as usize + 1)
            }
            (None, _, Some((model, next))) => (model, next + LINES / 2),
            (None, here, None) => (model_here?, here.unwrap_or(0) + 1),
        };
        let first = first.saturating_sub(LINES / 2).max(1);
        let source = self.client.source(model, first, LINES)?;
        if source.lines == 0 {
            bail!("the listing has {} lines, and all were shown; `list PLACE` shows others", source.total);
        }
        self.listing = Some((model, first + source.lines as usize));
        let here = here.filter(|_| self.model().is_ok_and(|here| here == model));
        let lines = source.text.lines().enumerate().map(|(number, line)| {
            let mark = if here == Some(first - 1 + number) { "=>" } else { "  " };
            format!("{mark} #{:<4} {}", first - 1 + number, shown_text(line))
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        let lines: Vec<&str> = source.text.lines().collect();
        let fields = json!({
            "model": model, "line": first, "total": source.total, "lines": lines, "current": here.map(|here| here + 1),
        });
        self.output.result("listing", fields, text);
        Ok(())
    }

    /// Chooses the stopped run that commands apply to, or reports which one it is.
    pub(super) fn thread(&mut self, run: Option<u64>) -> Result<()> {
        let stop = match run {
            None => self.stop()?,
            Some(run) => {
                let stops = self.inbox.stops();
                let found = stops.into_iter().find(|stop| stop.kind.run().is_some_and(|of| of.0 == run));
                found.with_context(|| format!("run {run} is not stopped; `info runs` lists those that are"))?
            }
        };
        self.current = Some(stop.sequence);
        self.listing = None;
        let location = self.client.location(stop.sequence).ok();
        self.output.result(
            "thread",
            json!({ "event": stop, "location": location }),
            show::stopped(&stop, location.as_ref()),
        );
        Ok(())
    }

    /// Chooses the model that commands apply to when no run is stopped.
    pub(super) fn choose_model(&mut self, number: Option<u32>) -> Result<()> {
        if let Some(number) = number {
            let models = self.client.models()?;
            if !models.iter().any(|model| model.model == ModelId(number)) {
                bail!("there is no model {number}; `info model` lists them");
            }
            self.model = Some(ModelId(number));
        }
        self.models()
    }

    fn side(&self, kind: &str, side: impl Fn(&Location) -> Vec<opscope::debug::TensorInfo>) -> Result<()> {
        let location = self.client.location(self.stop_in_run()?.sequence)?;
        let tensors = side(&location);
        let text = match tensors.is_empty() {
            true => format!("The operator has no {kind}."),
            false => show::tensors(&printable(&tensors), location.place.moment),
        };
        self.output.result(kind, json!({ "tensors": tensors }), text);
        Ok(())
    }

    fn attributes(&self) -> Result<()> {
        let location = self.client.location(self.stop_in_run()?.sequence)?;
        let text = match location.attributes.is_empty() {
            true => "The operator has no attributes.".to_owned(),
            false => show::table(
                printable(&location.attributes).into_iter().map(|(name, value)| [format!("  {name}"), value]),
            ),
        };
        self.output.result("attributes", json!({ "attributes": location.attributes }), text);
        Ok(())
    }

    fn runs(&self) -> Result<()> {
        let status = self.client.status()?;
        let current = self.stop().ok().map(|stop| stop.sequence);
        let rows = status.runs.iter().map(|run| {
            let stop = run.stopped.and_then(|event| self.inbox.stop(event)).as_ref().map(printable);
            let place = match (&stop, run.stopped) {
                (Some(stop), _) => stop.kind.position().map_or("stopped".to_owned(), |place| {
                    let moment = if has_failed(stop) { "failed at".to_owned() } else { place.moment.to_string() };
                    format!("{moment} {}", place.label())
                }),
                (None, Some(_)) => "stopped".to_owned(),
                (None, None) => "runs".to_owned(),
            };
            let mark = if run.stopped.is_some() && run.stopped == current { "*" } else { "" };
            let thread = if run.thread == 0 { "-".to_owned() } else { format!("thread {}", run.thread) };
            [mark.to_owned(), format!("run {}", run.run.0), format!("model {}", run.model), thread, place]
        });
        let text = match status.runs.is_empty() {
            true => "No run is active.".to_owned(),
            false => show::table(rows),
        };
        self.output.result("runs", json!({ "runs": status.runs, "current": current }), text);
        Ok(())
    }

    fn operators(&self, pattern: Option<&str>) -> Result<()> {
        let model = self.model()?;
        let pattern = pattern.unwrap_or("*");
        let mut rows = Vec::new();
        loop {
            let page = self.client.operators(model, pattern, rows.len(), usize::MAX)?;
            let total = page.total as usize;
            let done = page.operators.is_empty();
            rows.extend(page.operators);
            if done || rows.len() >= total {
                break;
            }
        }
        if rows.is_empty() {
            let target: Target = pattern.parse()?;
            return Err(self.with_nearest(&target, anyhow::anyhow!("no operator is called '{pattern}'")));
        }
        let lines = rows.iter().map(printable).map(|row: OperatorRow| {
            let called = row.origin.as_ref().filter(|origin| origin.module().is_some());
            let called = called.map(|origin| origin.display_name.clone()).unwrap_or_default();
            [format!("  #{}", row.index), row.op_type.clone(), row.name.clone(), show::mapping(&row.mapping), called]
        });
        let text = show::table(lines);
        self.output.result("operators", json!({ "model": model, "operators": rows }), text);
        Ok(())
    }

    fn operator(&self, target: Option<&Target>) -> Result<()> {
        let model = self.model()?;
        let (index, others) = match target {
            Some(target) => {
                let (row, total) = self.first_of(model, target)?;
                (row.index, total - 1)
            }
            None => {
                let stop = self.stop()?;
                let place = stop.kind.position().context("it is not known where the run failed; name an operator")?;
                (place.operator, 0)
            }
        };
        let info = self.client.operator(model, index)?;
        let operator = printable(&info);
        let mut text = format!(
            "#{} {} ({}), {}",
            operator.index,
            operator.name,
            operator.op_type,
            show::mapping(&operator.mapping)
        );
        if others > 0 {
            text.push_str(&format!("; the first of {}", others + 1));
        }
        let origin = operator.origin.iter().flat_map(|origin| origin.lines());
        origin.for_each(|line| text.push_str(&format!("\n  {line}")));
        for (kind, values) in [("input", &operator.inputs), ("output", &operator.outputs)] {
            for (slot, one) in values.iter().enumerate() {
                let one = one.as_ref().map_or("omitted".to_owned(), of_the_file);
                text.push_str(&format!("\n  {kind}[{slot}]  {one}"));
            }
        }
        for (name, value) in &operator.attributes {
            text.push_str(&format!("\n  {name} = {value}"));
        }
        self.output.result("operator", json!({ "model": model, "operator": info }), text);
        Ok(())
    }

    /// Returns the first operator that a target matches, and how many it matches.
    fn first_of(&self, model: ModelId, target: &Target) -> Result<(OperatorRow, u64)> {
        let rows = self.client.operators(model, &target.to_string(), 0, 1)?;
        match rows.operators.into_iter().next() {
            Some(row) => Ok((row, rows.total)),
            None => Err(self.with_nearest(target, anyhow::anyhow!("no operator is called '{target}'"))),
        }
    }

    fn models(&self) -> Result<()> {
        let models = self.client.models()?;
        let current = self.model().ok();
        let mut infos = Vec::new();
        let mut text = Vec::new();
        for model in &models {
            let whole = self.client.model(model.model)?;
            let info = printable(&whole);
            let mark = if current == Some(model.model) && models.len() > 1 { "* " } else { "" };
            text.push(format!(
                "{mark}Model {}: {} ({}), {}, {}",
                model.model,
                info.name,
                info.path,
                show::count(u64::from(info.operators), "operator"),
                model.fidelity
            ));
            for (kind, values) in [("input", &info.inputs), ("output", &info.outputs)] {
                text.extend(values.iter().map(|value| format!("  {kind:<6}  {}", of_the_file(value))));
            }
            infos.push(whole);
        }
        if models.is_empty() {
            text.push("The program has no model loaded.".to_owned());
        }
        self.output.result("models", json!({ "models": infos, "current": current }), text.join("\n"));
        Ok(())
    }

    fn counts(&self) -> Result<()> {
        let status = self.client.status()?;
        let row = |name: &str, account: &opscope::debug::Account| {
            [
                format!("  {name}"),
                format!("{} raised", account.raised),
                format!("{} read", account.delivered),
                format!("{} coalesced", account.coalesced),
                format!("{} wait", account.waiting),
            ]
        };
        let mut text = show::table([row("sync", &status.sync), row("async", &status.asynchronous)]);
        for release in &status.released {
            text.push_str(&format!(
                "\n  event {} ({}) was released without an acknowledgement",
                release.event, release.kind
            ));
        }
        let shown: Vec<&str> = self.shown.iter().map(|name| name.as_str()).collect();
        let fields = json!({
            "told": shown, "sync": status.sync, "async": status.asynchronous, "released": status.released,
        });
        self.output.result("accounts", fields, format!("shown: {}\n{text}", shown.join(", ")));
        Ok(())
    }

    fn status(&self) -> Result<()> {
        let status = self.client.status()?;
        let hello = self.client.hello();
        let text = format!(
            "process {}: {}\n{}, {}, {} stopped",
            hello.pid,
            shown_text(&hello.program.join(" ")),
            show::count(status.models.len() as u64, "model"),
            show::count(status.runs.len() as u64, "run"),
            show::count(status.stopped.len() as u64, "thread"),
        );
        self.output.result("status", json!({ "program": hello, "status": status }), text);
        Ok(())
    }
}

/// Returns a value's name with its type and shape in the file.
fn of_the_file(value: &ValueInfo) -> String {
    let dtype = value.dtype.as_ref().map(|dtype| format!(" {dtype}")).unwrap_or_default();
    let shape = value.shape.as_ref().map(|dims| format!(" [{}]", dims.join(", "))).unwrap_or_default();
    format!("{}{dtype}{shape}", value.name)
}
