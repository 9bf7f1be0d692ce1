//! Commands about the modules around a stopped operator, and the program's own code.

use anyhow::{Result, bail};
use opscope::debug::{Event, Location};
use opscope::onnx::modules_of_operator;
use serde_json::json;

use super::Console;
use crate::debug::show::{self, printable};

/// A module that an operator is in.
struct Around {
    path: String,
    /// Its class; empty if it is unknown.
    class: String,
}

impl Console {
    /// Chooses a module further out.
    pub(super) fn up(&mut self, by: u64) -> Result<()> {
        let stop = self.stop_in_run()?;
        let modules = around(&self.client.location(stop.sequence)?);
        let inside = self.chosen_module(&stop).unwrap_or(modules.len() + 1);
        match usize::try_from(by).ok().and_then(|by| inside.checked_sub(by)).filter(|depth| *depth > 0) {
            Some(depth) => self.choose_module(&stop, &modules, depth),
            None if modules.is_empty() => bail!("the operator is in no module"),
            None if inside == 1 => bail!("this is the outermost module"),
            None => bail!("only {} around this", are(inside - 1, "module")),
        }
    }

    /// Chooses a module further in, or the operator.
    pub(super) fn down(&mut self, by: u64) -> Result<()> {
        let stop = self.stop_in_run()?;
        let modules = around(&self.client.location(stop.sequence)?);
        let outside = self.chosen_module(&stop).unwrap_or(modules.len() + 1);
        match usize::try_from(by)
            .ok()
            .and_then(|by| outside.checked_add(by))
            .filter(|depth| *depth <= modules.len() + 1)
        {
            Some(depth) => self.choose_module(&stop, &modules, depth),
            None if outside > modules.len() => bail!("the operator is chosen, and nothing is inside of it"),
            None => bail!("only {} further in", are(modules.len() + 1 - outside, "place")),
        }
    }

    fn choose_module(&mut self, stop: &Event, modules: &[Around], depth: usize) -> Result<()> {
        let Some(module) = modules.get(depth - 1) else {
            self.module = None;
            return self.location();
        };
        self.module = Some((stop.sequence, depth));
        let fields = json!({ "path": module.path, "class": module.class, "depth": depth });
        self.output.result("module", fields, described(module));
        Ok(())
    }

    /// Returns how many modules the chosen module of a stop is in, itself included; `None` if the operator is chosen.
    pub(super) fn chosen_module(&self, stop: &Event) -> Option<usize> {
        self.module.filter(|(event, _)| *event == stop.sequence).map(|(_, depth)| depth)
    }

    /// Lists the modules around a stop, innermost first, with a mark at the chosen one; `None` if there are none.
    pub(super) fn shown_modules(&self, stop: &Event) -> Result<Option<String>> {
        let location = self.client.location(stop.sequence)?;
        // Those that are only in the operator's name can be read there.
        if location.origin.as_ref().is_none_or(|origin| origin.modules.is_empty()) {
            return Ok(None);
        }
        let (modules, chosen) = (around(&location), self.chosen_module(stop));
        let rows = modules.iter().enumerate().rev().map(|(index, module)| {
            let mark = if chosen == Some(index + 1) { "=>" } else { "" };
            [format!("{mark:2} {}", module.path), module.class.clone()]
        });
        Ok(Some(show::table(rows)))
    }

    /// Reports the value of an expression of the program's language.
    pub(super) fn evaluate(&self, expression: &str) -> Result<()> {
        let text = self.client.evaluate(self.stop_in_run()?.sequence, expression)?;
        self.output.result("evaluated", json!({ "expression": expression, "text": text }), &text);
        Ok(())
    }
}

fn are(number: usize, what: &str) -> String {
    let verb = if number == 1 { "is" } else { "are" };
    format!("{} {verb}", show::count(number as u64, what))
}

fn described(module: &Around) -> String {
    match &module.class[..] {
        "" => format!("in {}", module.path),
        class => format!("in {} ({class})", module.path),
    }
}

/// Returns the modules around the operator of a location, outermost first.
fn around(location: &Location) -> Vec<Around> {
    let location = printable(location);
    let class = |path: &str| {
        let modules = location.origin.iter().flat_map(|origin| &origin.modules);
        modules.filter(|module| module.path == path).map(|module| module.class.clone()).next().unwrap_or_default()
    };
    let paths = modules_of_operator(&location.place.name, location.origin.as_ref());
    paths.into_iter().map(|path| Around { path: path.to_owned(), class: class(path) }).collect()
}
