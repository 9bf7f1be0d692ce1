//! From the options of a dump to what is asked of the dumper.

use std::fmt::Display;

use opscope::benchmark::DumpForm;
use opscope::dump::{Delivery, Flow, IoSelection, OperatorRange, Pattern, Policy, Request, Selection};

use crate::exit::Failure;
use crate::options::{DumpArguments, DumpFormat, DumpPolicy, DumpSide};

/// Which tensors, and how they get to the files.
pub fn request(dumped: &DumpArguments) -> Result<Request, Failure> {
    let mut request = Request { selection: selection(dumped)?, ..Request::default() };
    if dumped.dump_cap.is_some() || dumped.dump_policy.is_some() {
        let policy = match dumped.dump_policy.unwrap_or(DumpPolicy::Block) {
            DumpPolicy::Block => Policy::Block { patience: Flow::DEFAULT_PATIENCE },
            DumpPolicy::Drop => Policy::Drop,
            DumpPolicy::Spill => Policy::Spill { directory: std::env::temp_dir() },
        };
        let cap = dumped.dump_cap.map_or(Flow::DEFAULT_CAP, |cap| cap.0 as usize);
        request.delivery = Some(Delivery::Queued(Flow { cap, policy }));
    }
    Ok(request)
}

/// Which files.
pub fn form(dumped: &DumpArguments) -> DumpForm {
    match dumped.dump_format {
        None | Some(DumpFormat::Npy) => DumpForm::Npy,
        Some(DumpFormat::Ascend) => DumpForm::Ascend,
        Some(DumpFormat::Statistics) => DumpForm::Statistics,
    }
}

fn selection(dumped: &DumpArguments) -> Result<Selection, Failure> {
    fn wrong<E: Display>(option: &'static str) -> impl Fn(E) -> Failure {
        move |error| Failure::wrong_use(format!("{option}: {error}"))
    }
    let patterns = |option: &'static str, given: &[String]| {
        given.iter().map(|text| Pattern::parse(text).map_err(wrong(option))).collect::<Result<Vec<_>, _>>()
    };
    let ranges = dumped.dump_range.iter().filter_map(|range| range.split_once(".."));
    Ok(Selection {
        operators: patterns("--dump-operator", &dumped.dump_operator)?,
        op_types: patterns("--dump-type", &dumped.dump_type)?,
        ranges: ranges.map(|(begin, end)| OperatorRange { begin: begin.to_owned(), end: end.to_owned() }).collect(),
        io: match dumped.dump_io {
            None | Some(DumpSide::Outputs) => IoSelection::Outputs,
            Some(DumpSide::Inputs) => IoSelection::Inputs,
            Some(DumpSide::All) => IoSelection::All,
        },
        slots: (!dumped.dump_slot.is_empty()).then(|| dumped.dump_slot.clone()),
        runs: dumped.dump_run.as_deref().map(str::parse).transpose().map_err(wrong("--dump-run"))?.unwrap_or_default(),
        first: dumped.dump_first,
        only_non_finite: dumped.dump_non_finite.unwrap_or(false),
        byte_budget: dumped.dump_budget.map(|budget| budget.0),
        ..Selection::default()
    })
}
