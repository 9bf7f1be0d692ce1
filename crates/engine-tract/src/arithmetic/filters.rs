//! Convolutions as sums of shifted rows: at each position, each tap of a filter reads the input at a fixed distance.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

/// The filters of a convolution over an input in which the positions of one output are consecutive.
#[derive(Debug)]
pub(crate) struct Filters {
    /// How many channels are computed at once.
    width: usize,
    /// The number of channels in each group.
    channels: usize,
    /// The distance from a position at which each tap reads.
    taps: Vec<usize>,
    /// For each group, and for each `width` of its channels, the weights tap by tap.
    weights: Vec<f32>,
    biases: Vec<f32>,
}

/// How many numbers after the last position are read without being used.
pub(crate) const SLACK: usize = 128;

impl Filters {
    /// Returns the filters with a weight for each group, channel and tap, and a bias for each group and channel.
    pub(crate) fn new(
        groups: usize,
        channels: usize,
        taps: Vec<usize>,
        weight: impl Fn(usize, usize, usize) -> f32,
        bias: impl Fn(usize, usize) -> f32,
    ) -> Self {
        let most = Arch::new().dispatch(MostChannels);
        let width = channels.next_power_of_two().min(most);
        let tiles = channels.div_ceil(width);
        let mut weights = Vec::with_capacity(groups * tiles * taps.len() * width);
        let mut biases = Vec::with_capacity(groups * tiles * width);
        for group in 0..groups {
            for tile in 0..tiles {
                // Lanes after the last channel are computed but not used.
                let channel = |lane: usize| Some(tile * width + lane).filter(|channel| *channel < channels);
                for tap in 0..taps.len() {
                    weights.extend((0..width).map(|lane| channel(lane).map_or(0.0, |at| weight(group, at, tap))));
                }
                biases.extend((0..width).map(|lane| channel(lane).map_or(0.0, |at| bias(group, at))));
            }
        }
        Self { width, channels, taps, weights, biases }
    }

    /// Returns how many channels are computed at once.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Computes positions of the tile's channels. Returns the distance between the channels in `sums`. The input must
    /// have [`SLACK`] more numbers than the taps read.
    pub(crate) fn convolve(
        &self,
        group: usize,
        tile: usize,
        input: &[f32],
        positions: Range<usize>,
        sums: &mut Vec<f32>,
    ) -> usize {
        let tile = group * self.channels.div_ceil(self.width) + tile;
        let each = self.taps.len() * self.width;
        let weights = &self.weights[tile * each..][..each];
        let biases = &self.biases[tile * self.width..][..self.width];
        let stride = positions.len().next_multiple_of(16);
        sums.resize(self.width * stride, 0.0);
        Arch::new().dispatch(Convolve { taps: &self.taps, weights, biases, input, positions, stride, sums });
        stride
    }
}

/// How many channels fit into the registers, in addition to the positions.
struct MostChannels;

impl WithSimd for MostChannels {
    type Output = usize;

    fn with_simd<S: Simd>(self, _: S) -> usize {
        if S::REGISTER_COUNT >= 32 { 8 } else { 4 }
    }
}

struct Convolve<'a> {
    taps: &'a [usize],
    weights: &'a [f32],
    biases: &'a [f32],
    input: &'a [f32],
    positions: Range<usize>,
    stride: usize,
    sums: &'a mut [f32],
}

impl WithSimd for Convolve<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match self.biases.len() {
            1 => self.vectors_at_a_time::<S, 1, 8>(simd),
            2 => self.vectors_at_a_time::<S, 2, 6>(simd),
            4 if S::REGISTER_COUNT >= 32 => self.vectors_at_a_time::<S, 4, 6>(simd),
            4 => self.vectors_at_a_time::<S, 4, 3>(simd),
            _ => self.vectors_at_a_time::<S, 8, 3>(simd),
        }
    }
}

impl Convolve<'_> {
    #[inline(always)]
    fn vectors_at_a_time<S: Simd, const CHANNELS: usize, const VECTORS: usize>(self, simd: S) {
        let Self { taps, weights, biases, input, positions, stride, sums } = self;
        let weights = weights.as_chunks::<CHANNELS>().0;
        let Some(biases) = biases.first_chunk::<CHANNELS>() else { return };
        let lanes = S::F32_LANES;
        let mut done = 0;
        while done + VECTORS * lanes <= positions.len() {
            let found = tile::<S, CHANNELS, VECTORS>(simd, taps, weights, biases, &input[positions.start + done..]);
            store::<S, CHANNELS, VECTORS>(found, &mut sums[done..], stride);
            done += VECTORS * lanes;
        }
        while done < positions.len() {
            let found = tile::<S, CHANNELS, 1>(simd, taps, weights, biases, &input[positions.start + done..]);
            store::<S, CHANNELS, 1>(found, &mut sums[done..], stride);
            done += lanes;
        }
    }
}

#[inline(always)]
fn tile<S: Simd, const CHANNELS: usize, const VECTORS: usize>(
    simd: S,
    taps: &[usize],
    weights: &[[f32; CHANNELS]],
    biases: &[f32; CHANNELS],
    input: &[f32],
) -> [[S::f32s; VECTORS]; CHANNELS] {
    let mut sums = biases.map(|bias| [simd.splat_f32s(bias); VECTORS]);
    for (&tap, weights) in taps.iter().zip(weights) {
        let values = S::as_simd_f32s(&input[tap..][..VECTORS * S::F32_LANES]).0;
        let values: [S::f32s; VECTORS] = std::array::from_fn(|vector| values[vector]);
        for channel in 0..CHANNELS {
            let weight = simd.splat_f32s(weights[channel]);
            for vector in 0..VECTORS {
                sums[channel][vector] = simd.mul_add_e_f32s(weight, values[vector], sums[channel][vector]);
            }
        }
    }
    sums
}

#[inline(always)]
fn store<S: Simd, const CHANNELS: usize, const VECTORS: usize>(
    found: [[S::f32s; VECTORS]; CHANNELS],
    sums: &mut [f32],
    stride: usize,
) {
    for (channel, found) in found.into_iter().enumerate() {
        let places = S::as_mut_simd_f32s(&mut sums[channel * stride..][..VECTORS * S::F32_LANES]).0;
        places.copy_from_slice(&found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_position_is_the_sum_over_the_taps_for_every_number_of_channels() {
        let mut random = fastrand::Rng::with_seed(11);
        for (groups, channels) in [(1, 1), (2, 2), (1, 3), (3, 4), (1, 7), (1, 8), (2, 13)] {
            for positions in [0..1, 3..40, 5..150] {
                let taps = vec![0, 1, 2, 30, 31, 33, 64];
                let input: Vec<f32> = (0..positions.end + 64 + SLACK).map(|_| f32::from(random.i8(-8..8))).collect();
                let all: Vec<f32> = (0..groups * channels * taps.len()).map(|_| f32::from(random.i8(-8..8))).collect();
                let weight = |group: usize, channel: usize, tap: usize| all[(group * channels + channel) * 7 + tap];
                let bias = |group: usize, channel: usize| (10 * group + channel) as f32;
                let filters = Filters::new(groups, channels, taps.clone(), weight, bias);
                let mut sums = Vec::new();
                for group in 0..groups {
                    for channel in 0..channels {
                        let (tile, lane) = (channel / filters.width(), channel % filters.width());
                        let stride = filters.convolve(group, tile, &input, positions.clone(), &mut sums);
                        for position in positions.clone() {
                            let terms = (0..7).map(|tap| weight(group, channel, tap) * input[position + taps[tap]]);
                            let expected = bias(group, channel) + terms.sum::<f32>();
                            let found = sums[lane * stride + position - positions.start];
                            assert_eq!(found, expected, "channel {channel} of {channels} at {position}");
                        }
                    }
                }
            }
        }
    }
}
