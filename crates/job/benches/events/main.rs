//! Measures what a debugger costs: runs without a client, runs that are observed, and how soon a debugger in another
//! process is notified and answers.

mod breakpoints;
mod child;
mod detached;
mod flood;
mod stop;
#[path = "../support/mod.rs"]
mod support;

use std::process::ExitCode;

fn main() -> ExitCode {
    if child::is_one() {
        child::act();
        return ExitCode::SUCCESS;
    }
    let calibration = support::calibration();
    let groups: [(&str, &dyn Fn()); 5] = [
        ("dispatch", &|| detached::per_dispatch(&calibration)),
        ("run", &|| detached::whole_runs(&calibration)),
        ("breakpoints", &|| breakpoints::that_do_not_match(&calibration)),
        ("stop", &|| stop::and_go(&calibration)),
        ("flood", &flood::a_million),
    ];
    let asked: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    for (_, measure) in groups.iter().filter(|(name, _)| asked.is_empty() || asked.iter().any(|word| word == name)) {
        measure();
    }
    opscope_bench::finish()
}
