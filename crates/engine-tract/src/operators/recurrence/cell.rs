//! A step of one direction.

use super::kind::Kind;
use super::node::{Direction, Recurrence};
use super::products::Weights;

/// One direction, and what it needs for a step.
pub(super) struct Cell<'a> {
    pub recurrence: &'a Recurrence,
    pub direction: &'a Direction,
    pub bias: Vec<f32>,
    pub peepholes: Vec<f32>,
    pub r: Weights,
}

impl Cell<'_> {
    /// Computes a step of every row that has a place in the sequence.
    pub(super) fn step(&mut self, projected: &[f32], places: &[Option<usize>], states: &mut [Vec<f32>; 2]) {
        let (hidden, batch) = (self.recurrence.hidden, places.len());
        let gates = self.recurrence.kind.gates();
        let columns = gates * hidden;
        let mut recurrent = vec![0f32; batch * columns];
        self.r.add_product(&states[0], batch, hidden, &mut recurrent);
        let (w_bias, r_bias) = self.bias.split_at(columns);
        // Before the state is touched, for the gates of a GRU without linear_before_reset need it twice.
        let before = states[0].clone();
        let mut reset_state = vec![0f32; batch * hidden];
        for (row, place) in places.iter().enumerate() {
            let Some(place) = place else { continue };
            let x = &projected[(place * batch + row) * columns..][..columns];
            let h = &recurrent[row * columns..][..columns];
            let sum = |gate: usize, index: usize| {
                let at = gate * hidden + index;
                x[at] + h[at] + (w_bias[at] + r_bias[at])
            };
            for index in 0..hidden {
                let at = row * hidden + index;
                match self.recurrence.kind {
                    Kind::Rnn => states[0][at] = self.activate(0, sum(0, index)),
                    Kind::Lstm => {
                        let [state, cells] = &mut *states;
                        let cell = cells[at];
                        let let_in = self.activate(0, sum(0, index) + self.peepholes[index] * cell);
                        let kept = match self.recurrence.is_coupled {
                            true => 1.0 - let_in,
                            false => self.activate(0, sum(2, index) + self.peepholes[2 * hidden + index] * cell),
                        };
                        let cell = kept * cell + let_in * self.activate(1, sum(3, index));
                        let let_out = self.activate(0, sum(1, index) + self.peepholes[hidden + index] * cell);
                        cells[at] = cell;
                        state[at] = let_out * self.direction.activations[2].apply(cell);
                    }
                    Kind::Gru => {
                        reset_state[at] = self.activate(0, sum(1, index)) * before[at];
                    }
                }
            }
        }
        if self.recurrence.kind == Kind::Gru {
            self.step_of_gru(projected, places, &recurrent, &before, &reset_state, &mut states[0]);
        }
    }

    fn step_of_gru(
        &self,
        projected: &[f32],
        places: &[Option<usize>],
        recurrent: &[f32],
        before: &[f32],
        reset_state: &[f32],
        state: &mut [f32],
    ) {
        let (hidden, batch) = (self.recurrence.hidden, places.len());
        let columns = 3 * hidden;
        let (w_bias, r_bias) = self.bias.split_at(columns);
        let mut of_reset = vec![0f32; batch * columns];
        if !self.recurrence.linear_before_reset {
            self.r.add_product(reset_state, batch, hidden, &mut of_reset);
        }
        for (row, place) in places.iter().enumerate() {
            let Some(place) = place else { continue };
            let x = &projected[(place * batch + row) * columns..][..columns];
            let h = &recurrent[row * columns..][..columns];
            for index in 0..hidden {
                let sum = |at: usize| x[at] + h[at] + (w_bias[at] + r_bias[at]);
                let kept = self.activate(0, sum(index));
                let at = 2 * hidden + index;
                let inner = match self.recurrence.linear_before_reset {
                    true => {
                        let reset = self.activate(0, sum(hidden + index));
                        reset * (h[at] + r_bias[at])
                    }
                    false => of_reset[row * columns + at] + r_bias[at],
                };
                let new = self.activate(1, x[at] + w_bias[at] + inner);
                let at = row * hidden + index;
                state[at] = (1.0 - kept) * new + kept * before[at];
            }
        }
    }

    fn activate(&self, which: usize, value: f32) -> f32 {
        let value = match self.recurrence.clip {
            Some(clip) => value.clamp(-clip.abs(), clip.abs()),
            None => value,
        };
        self.direction.activations[which].apply(value)
    }
}
