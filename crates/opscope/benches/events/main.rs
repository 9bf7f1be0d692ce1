//! What a debugger costs: a run to which nobody is attached, a run that is watched, and how soon a debugger in another
//! process is told and answers.

mod breakpoints;
mod child;
mod detached;
mod flood;
mod stop;
#[path = "../support/mod.rs"]
mod support;

fn main() {
    if child::is_one() {
        return child::act();
    }
    let calibration = support::calibration();
    detached::per_dispatch(&calibration);
    detached::whole_runs(&calibration);
    breakpoints::that_do_not_match(&calibration);
    stop::and_go(&calibration);
    flood::a_million();
}
