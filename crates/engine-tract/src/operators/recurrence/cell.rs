//! One step of one direction.

use super::activation::{Activation, Kind};
use super::directions::Direction;
use super::node::Recurrence;

/// One direction, and the buffers for a step.
pub(super) struct Cell<'a> {
    pub recurrence: &'a Recurrence,
    pub activations: &'a [Activation],
    pub direction: &'a Direction,
    /// The products of all rows with the state.
    pub recurrent: Vec<f32>,
    /// The gates of a row.
    pub gates: Vec<f32>,
}

impl Cell<'_> {
    /// Computes one step of every row that has a position in the sequence.
    pub(super) fn step(&mut self, projected: &[f32], places: &[Option<usize>], states: &mut [Vec<f32>; 2]) {
        let (hidden, batch) = (self.recurrence.hidden, places.len());
        let columns = self.recurrence.kind.gates() * hidden;
        let Direction { r, r_of_new, bias, .. } = self.direction;
        self.recurrent.clear();
        self.recurrent.resize(batch * columns, 0.0);
        r.add_product(&states[0], &mut self.recurrent);
        let reset = r_of_new.as_ref().map(|weights| {
            let mut reset = states[0].clone();
            for (row, place) in places.iter().enumerate() {
                let Some(place) = place else { continue };
                let [x, h] = self.row(projected, *place, row, batch);
                let mut gate = summed(x, h, bias, hidden..2 * hidden);
                self.activate(0, &mut gate);
                reset[row * hidden..][..hidden].iter_mut().zip(gate).for_each(|(state, gate)| *state *= gate);
            }
            let mut product = vec![0f32; batch * hidden];
            weights.add_product(&reset, &mut product);
            product
        });
        let mut gates = std::mem::take(&mut self.gates);
        for (row, place) in places.iter().enumerate() {
            let Some(place) = place else { continue };
            let [x, h] = self.row(projected, *place, row, batch);
            gates.clear();
            gates.extend(x.iter().zip(h).zip(bias).map(|((x, h), bias)| x + h + bias));
            let [state, cells] = states.each_mut().map(|state| state.get_mut(row * hidden..).unwrap_or_default());
            let state = &mut state[..hidden];
            match self.recurrence.kind {
                Kind::Rnn => {
                    self.activate(0, &mut gates);
                    state.copy_from_slice(&gates);
                }
                Kind::Lstm => self.lstm(&mut gates, state, &mut cells[..hidden]),
                Kind::Gru => {
                    let reset = reset.as_ref().map(|reset| &reset[row * hidden..][..hidden]);
                    self.gru(&mut gates, [x, h].map(|row| &row[2 * hidden..]), reset, state);
                }
            }
        }
        self.gates = gates;
    }

    /// Returns the parts from the input and from the state, before the biases.
    fn row<'a>(&'a self, projected: &'a [f32], place: usize, row: usize, batch: usize) -> [&'a [f32]; 2] {
        let columns = self.direction.bias.len();
        [&projected[(place * batch + row) * columns..][..columns], &self.recurrent[row * columns..][..columns]]
    }

    fn lstm(&self, gates: &mut [f32], state: &mut [f32], cells: &mut [f32]) {
        let hidden = self.recurrence.hidden;
        let (let_in, rest) = gates.split_at_mut(hidden);
        let (let_out, rest) = rest.split_at_mut(hidden);
        let (kept, new) = rest.split_at_mut(hidden);
        let peepholes = self.direction.peepholes.as_deref();
        let look = |gate: &mut [f32], which: usize, cells: &[f32]| {
            let Some(peepholes) = peepholes else { return };
            let weights = &peepholes[which * hidden..][..hidden];
            gate.iter_mut().zip(weights).zip(cells).for_each(|((gate, weight), cell)| *gate += weight * cell);
        };
        look(let_in, 0, cells);
        self.activate(0, let_in);
        match self.recurrence.is_coupled {
            true => kept.iter_mut().zip(&*let_in).for_each(|(kept, let_in)| *kept = 1.0 - let_in),
            false => {
                look(kept, 2, cells);
                self.activate(0, kept);
            }
        }
        self.activate(1, new);
        for (((cell, kept), let_in), new) in cells.iter_mut().zip(&*kept).zip(&*let_in).zip(&*new) {
            *cell = kept * *cell + let_in * new;
        }
        look(let_out, 1, cells);
        self.activate(0, let_out);
        state.copy_from_slice(cells);
        self.activations[2].apply(state);
        state.iter_mut().zip(&*let_out).for_each(|(state, let_out)| *state *= let_out);
    }

    /// Computes the new state from the parts of the input and of the state. If the reset comes before the product,
    /// `of_reset` is the product with the reset state.
    fn gru(&self, gates: &mut [f32], [x, h]: [&[f32]; 2], of_reset: Option<&[f32]>, state: &mut [f32]) {
        let hidden = self.recurrence.hidden;
        let (kept, rest) = gates.split_at_mut(hidden);
        let (reset, new) = rest.split_at_mut(hidden);
        self.activate(0, kept);
        let [of_input, of_state] = self.direction.biases.each_ref().map(|bias| &bias[2 * hidden..]);
        match of_reset {
            Some(product) => {
                for at in 0..hidden {
                    new[at] = x[at] + of_input[at] + (product[at] + of_state[at]);
                }
            }
            None => {
                self.activate(0, reset);
                for at in 0..hidden {
                    new[at] = x[at] + of_input[at] + reset[at] * (h[at] + of_state[at]);
                }
            }
        }
        self.activate(1, new);
        for ((state, kept), new) in state.iter_mut().zip(&*kept).zip(&*new) {
            *state = (1.0 - kept) * new + kept * *state;
        }
    }

    fn activate(&self, which: usize, values: &mut [f32]) {
        if let Some(clip) = self.recurrence.clip {
            values.iter_mut().for_each(|value| *value = value.clamp(-clip.abs(), clip.abs()));
        }
        self.activations[which].apply(values);
    }
}

fn summed(x: &[f32], h: &[f32], bias: &[f32], range: std::ops::Range<usize>) -> Vec<f32> {
    let [x, h, bias] = [x, h, bias].map(|all| &all[range.clone()]);
    x.iter().zip(h).zip(bias).map(|((x, h), bias)| x + h + bias).collect()
}
