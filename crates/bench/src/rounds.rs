//! Contenders that are measured in turn.

use crate::{Goal, Judged, Measured, decide, is_json, median, times};

/// Something to measure: its name, and a function that does it once and returns its cost.
pub struct Contender<'a> {
    name: &'static str,
    run: Box<dyn FnMut() -> f64 + 'a>,
}

impl<'a> Contender<'a> {
    /// Creates a contender with this name.
    pub fn new(name: &'static str, run: impl FnMut() -> f64 + 'a) -> Self {
        Self { name, run: Box::new(run) }
    }
}

/// The costs of contenders, round by round. Each round measures every contender once, and the first one twice: the
/// difference between these two is the noise. The order changes from round to round, so that no contender always finds
/// the warmer cache.
pub struct Rounds<'a, const N: usize> {
    contenders: [Contender<'a>; N],
    /// How many rounds [`Self::more`] adds.
    step: usize,
    costs: [Vec<f64>; N],
    again: Vec<f64>,
}

impl<'a, const N: usize> Rounds<'a, N> {
    /// Runs each contender twice without counting it, to warm up pages, branch predictors and clocks.
    pub fn new(step: usize, mut contenders: [Contender<'a>; N]) -> Self {
        for _ in 0..times(2, 1) {
            for contender in &mut contenders {
                (contender.run)();
            }
        }
        Self { contenders, step: times(step, 2), costs: [const { Vec::new() }; N], again: Vec::new() }
    }

    /// Measures `step` more rounds.
    pub fn more(&mut self) {
        for _ in 0..self.step {
            let round = self.again.len();
            for turn in 0..=N {
                // The position after the last contender stands for the first one again.
                let place = (round + turn) % (N + 1);
                let cost = (self.contenders[place % N].run)();
                if place == N { self.again.push(cost) } else { self.costs[place].push(cost) }
            }
        }
    }

    /// Measures until it is decided whether the ratio of one contender's cost to another's reaches a goal.
    pub fn decide_ratio(&mut self, goal: Goal, ours: usize, peer: usize) -> Judged {
        decide(goal, || {
            self.more();
            self.ratio(ours, peer)
        })
    }

    /// Measures until it is decided whether the additional cost of one contender over another reaches a goal. `factor`
    /// converts the difference into the unit of the goal.
    pub fn decide_difference(&mut self, goal: Goal, ours: usize, peer: usize, factor: f64) -> Judged {
        decide(goal, || {
            self.more();
            self.difference(ours, peer).times(factor)
        })
    }

    /// Returns the ratio of two contenders' costs, round by round.
    pub fn ratio(&self, ours: usize, peer: usize) -> Judged {
        let ratio = |ours: &[f64], peer: &[f64]| over(ours, peer, |ours, peer| ours / peer);
        let noise = ratio(&self.again, &self.costs[0]).reach_from(1.0);
        Judged { measured: ratio(&self.costs[ours], &self.costs[peer]), noise }
    }

    /// Returns the difference of two contenders' costs, round by round.
    pub fn difference(&self, ours: usize, peer: usize) -> Judged {
        let difference = |ours: &[f64], peer: &[f64]| over(ours, peer, |ours, peer| ours - peer);
        let noise = difference(&self.again, &self.costs[0]).reach_from(0.0);
        Judged { measured: difference(&self.costs[ours], &self.costs[peer]), noise }
    }

    /// Returns the cost of a contender.
    pub fn cost(&self, contender: usize) -> Measured {
        Measured::of(&self.costs[contender])
    }

    /// Prints the cost of every contender, unless JSON lines are requested.
    pub fn print(&self, title: &str) {
        if is_json() {
            return;
        }
        println!("{title}");
        for (contender, costs) in self.contenders.iter().zip(&self.costs) {
            println!("    {:<48} {:>12.3}", contender.name, median(costs));
        }
    }
}

fn over(ours: &[f64], peer: &[f64], of: impl Fn(f64, f64) -> f64) -> Measured {
    let values: Vec<f64> = ours.iter().zip(peer).map(|(ours, peer)| of(*ours, *peer)).collect();
    Measured::of(&values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_measure_every_contender_once_and_the_first_one_twice() {
        let mut calls = [0, 0];
        let [first, second] = &mut calls;
        let mut rounds = Rounds::new(
            10,
            [
                Contender::new("first", || {
                    *first += 1;
                    2.0
                }),
                Contender::new("second", || {
                    *second += 1;
                    3.0
                }),
            ],
        );
        rounds.more();
        assert_eq!(rounds.ratio(1, 0), Judged { measured: Measured::exactly(1.5), noise: 0.0 });
        assert_eq!(rounds.difference(1, 0), Judged { measured: Measured::exactly(1.0), noise: 0.0 });
        drop(rounds);
        assert_eq!(calls, [22, 12]);
    }

    #[test]
    fn the_noise_is_how_far_the_first_one_is_from_itself() {
        let mut cost = 1.0;
        let mut rounds = Rounds::new(
            40,
            [Contender::new("varies", || {
                cost = 3.0 - cost;
                cost
            })],
        );
        rounds.more();
        let noise = rounds.ratio(0, 0).noise;
        assert!((0.5..=1.0).contains(&noise), "twice as much one time, and half as much the other: {noise}");
    }
}
