//! Convolutions that are slow in tract, computed by this crate's operator: those with many taps or groups, or with
//! strides.

use std::sync::Arc;

use tract_linalg::multithread::par_chunks_mut;
use tract_onnx::prelude::{DatumType, TValue, TVec, Tensor, TypedFact, TypedModel, tvec};
use tract_onnx::tract_core::internal::{
    EvalContext, EvalOp, IntoTValue, Op, StaticName, TractResult, TypedModelPatch, TypedNode, TypedOp,
};
use tract_onnx::tract_core::ops::cnn::{Conv, KernelFormat};
use tract_onnx::tract_core::ops::nn::DataFormat;
use tract_onnx::tract_core::{as_op, op_as_typed_op};

use crate::arithmetic::{Filters, SLACK};

/// With fewer output positions, this crate's operator is not worth its cost.
const FEWEST_POSITIONS: usize = 16;
const FEWEST_BY_CHANNEL: usize = 32;
/// tract gathers an input once for all output channels: with many channels, gathering a few positions costs little.
const FEW_POSITIONS: usize = 256;
const MANY_CHANNELS: usize = 128;
/// How many numbers of the input a pass over the filters reads: as many as the nearer caches hold.
const BLOCK: usize = 1 << 16;

/// The operator that replaces tract's.
#[derive(Debug, Clone)]
pub(super) struct Convolution {
    filters: Arc<Filters>,
    groups: usize,
    /// The channels in each group of the input and of the output.
    channels: [usize; 2],
    batch: usize,
    input: [usize; 2],
    output: [usize; 2],
    pads: [usize; 2],
    strides: [usize; 2],
    /// The part of a channel that the taps read for each phase of the strides, so that output positions are consecutive
    /// in it.
    part: [usize; 2],
    shape: TVec<usize>,
}

/// Returns a patch with this crate's operator for a convolution with constants, if that is faster.
pub(super) fn patch(model: &TypedModel, node: &TypedNode, conv: &Conv) -> TractResult<Option<TypedModelPatch>> {
    let Some(convolution) = Convolution::of(model, node, conv)? else { return Ok(None) };
    TypedModelPatch::replace_single_op(model, node, &node.inputs[..1], convolution).map(Some)
}

impl Convolution {
    fn of(model: &TypedModel, node: &TypedNode, conv: &Conv) -> TractResult<Option<Self>> {
        let spec = &conv.pool_spec;
        let is_channel_first = matches!(spec.data_format, DataFormat::NCHW | DataFormat::CHW);
        let rank = spec.rank();
        if conv.q_params.is_some()
            || !is_channel_first
            || conv.kernel_fmt != KernelFormat::OIHW
            || !(1..=2).contains(&rank)
        {
            return Ok(None);
        }
        let (x, kernel, bias) =
            (node.inputs[0], model.outlet_fact(node.inputs[1])?, model.outlet_fact(node.inputs[2])?);
        let x = model.outlet_fact(x)?;
        let (Some(kernel), Some(bias), Some(shape)) = (&kernel.konst, &bias.konst, x.shape.as_concrete()) else {
            return Ok(None);
        };
        if [x.datum_type, kernel.datum_type(), bias.datum_type()].iter().any(|datum| *datum != DatumType::F32) {
            return Ok(None);
        }
        let shape = spec.data_format.shape(TVec::from(shape))?;
        let computed = spec.computed_padding(shape.hw_dims());
        // A convolution over one axis has a single row.
        let both = |of: &dyn Fn(usize) -> usize, missing: usize| match rank {
            1 => [missing, of(0)],
            _ => [of(0), of(1)],
        };
        let size = both(&|axis| spec.kernel_shape[axis], 1);
        let strides = both(&|axis| spec.stride(axis), 1);
        let dilations = both(&|axis| spec.dilation(axis), 1);
        let output = both(&|axis| computed[axis].convoluted, 1);
        let channels = [spec.input_channels / conv.group, spec.output_channels / conv.group];
        let positions = output[0] * output[1];
        let is_by_channel = channels == [1, 1];
        let has_several_taps = size != [1, 1];
        let fewest = if is_by_channel { FEWEST_BY_CHANNEL } else { FEWEST_POSITIONS };
        let is_gathered_for_many = positions < FEW_POSITIONS && channels[1] > MANY_CHANNELS;
        let is_narrow = output[1] < 4 && !is_by_channel;
        if positions < fewest || !has_several_taps || is_narrow || is_gathered_for_many {
            return Ok(None);
        }
        // Rounded up, so that every phase has rows of the same length.
        let part: [usize; 2] =
            std::array::from_fn(|axis| output[axis] + (size[axis] - 1) * dilations[axis] / strides[axis]);
        let phases = strides[0] * strides[1];
        // If this is far more than the number of elements of the tensors, the copy would be nearly all zeros.
        let copied = [channels[0], phases, part[0], part[1]].iter().try_fold(1usize, |all, dim| all.checked_mul(*dim));
        let of_tensors = shape.shape.iter().product::<usize>() + conv.pool_spec.output_channels * positions;
        if copied.is_none_or(|copied| copied > 8 * of_tensors) {
            return Ok(None);
        }
        let mut taps = Vec::with_capacity(channels[0] * size[0] * size[1]);
        for channel in 0..channels[0] {
            for row in (0..size[0]).map(|row| row * dilations[0]) {
                for column in (0..size[1]).map(|column| column * dilations[1]) {
                    let phase = channel * phases + row % strides[0] * strides[1] + column % strides[1];
                    let place = row / strides[0] * part[1] + column / strides[1];
                    taps.push(phase * part[0] * part[1] + place);
                }
            }
        }
        let (kernel, bias) = (kernel.try_as_plain_ram()?, bias.try_as_plain_ram()?);
        let (kernel, bias) = (kernel.as_slice::<f32>()?, bias.as_slice::<f32>()?);
        let count = taps.len();
        let weight = |group: usize, channel: usize, tap: usize| kernel[(group * channels[1] + channel) * count + tap];
        let bias = |group: usize, channel: usize| bias[(group * channels[1] + channel) % bias.len()];
        Ok(Some(Self {
            filters: Arc::new(Filters::new(conv.group, channels[1], taps, weight, bias)),
            groups: conv.group,
            channels,
            batch: shape.n().copied().unwrap_or(1),
            input: both(&|axis| shape.hw_dims()[axis], 1),
            output,
            pads: both(&|axis| computed[axis].pad_before, 0),
            strides,
            part,
            shape: spec.output_shape(&shape.shape)?.shape,
        }))
    }

    /// Writes channels with zeros around them, in one part for each phase.
    fn spread(&self, channels: &[f32], spread: &mut Vec<f32>) {
        let [height, width] = self.input;
        let [part_height, part_width] = self.part;
        let count = channels.len() / (height * width).max(1);
        spread.clear();
        spread.resize(count * self.strides[0] * self.strides[1] * part_height * part_width + SLACK, 0.0);
        let mut parts = spread.chunks_exact_mut(part_height * part_width);
        for channel in channels.chunks_exact((height * width).max(1)) {
            for phase in 0..self.strides[0] * self.strides[1] {
                let Some(part) = parts.next() else { return };
                let [down, right] = [phase / self.strides[1], phase % self.strides[1]];
                for (row, line) in part.chunks_exact_mut(part_width).enumerate() {
                    let Some(from) = (row * self.strides[0] + down).checked_sub(self.pads[0]) else { continue };
                    let Some(from) = channel.get(from * width..(from + 1) * width) else { continue };
                    // The first position of the line that is inside the input.
                    let first = self.pads[1].saturating_sub(right).div_ceil(self.strides[1]);
                    let start = first * self.strides[1] + right - self.pads[1];
                    let line = line.get_mut(first..).unwrap_or_default();
                    let from = from.get(start..).unwrap_or_default();
                    match self.strides[1] {
                        1 => {
                            let length = line.len().min(from.len());
                            line[..length].copy_from_slice(&from[..length]);
                        }
                        stride => {
                            line.iter_mut().zip(from.iter().step_by(stride)).for_each(|(to, from)| *to = *from);
                        }
                    }
                }
            }
        }
    }

    /// Computes some channels of an output, starting with `first`.
    fn convolve(&self, image: &[f32], shared: &[f32], first: usize, out: &mut [f32]) {
        let [height, width] = self.output;
        let plane = height * width;
        let channels = self.channels[1];
        let in_group = self.channels[0] * self.input[0] * self.input[1];
        let (mut own, mut sums) = (Vec::new(), Vec::new());
        let rows = (BLOCK / self.channels[0] / self.part[1]).clamp(1, height);
        let end = first + out.len() / plane;
        let mut group_start = first;
        while group_start < end {
            let group = group_start / channels;
            let group_end = end.min((group + 1) * channels);
            let input = match self.groups {
                1 => shared,
                _ => {
                    self.spread(&image[group * in_group..][..in_group], &mut own);
                    &own
                }
            };
            for top in (0..height).step_by(rows) {
                let bottom = height.min(top + rows);
                let positions = top * self.part[1]..(bottom - 1) * self.part[1] + width;
                let mut channel = group_start;
                while channel < group_end {
                    let (tile, lane) =
                        (channel % channels / self.filters.width(), channel % channels % self.filters.width());
                    let lanes = lane..self.filters.width().min(lane + group_end - channel);
                    let stride = self.filters.convolve(group, tile, input, positions.clone(), &mut sums);
                    for lane in lanes {
                        let to = &mut out[(channel - first) * plane..][..plane][top * width..bottom * width];
                        let from = sums[lane * stride..].chunks(self.part[1]);
                        to.chunks_exact_mut(width).zip(from).for_each(|(to, from)| to.copy_from_slice(&from[..width]));
                        channel += 1;
                    }
                }
            }
            group_start = group_end;
        }
    }
}

impl PartialEq for Convolution {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.filters, &other.filters) && self.shape == other.shape
    }
}

impl Eq for Convolution {}

impl Op for Convolution {
    fn name(&self) -> StaticName {
        "Conv".into()
    }

    op_as_typed_op!();
}

impl EvalOp for Convolution {
    fn eval(&self, _: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let mut output = Tensor::zero::<f32>(&self.shape)?;
        let input = inputs[0].try_as_plain_ram()?;
        let images = input.as_slice::<f32>()?;
        let of_input = self.groups * self.channels[0] * self.input[0] * self.input[1];
        let plane = self.output[0] * self.output[1];
        let of_output = self.groups * self.channels[1] * plane;
        let mut spread = Vec::new();
        {
            let mut output = output.try_as_plain_ram_mut()?;
            let images = images.chunks_exact(of_input).zip(output.as_slice_mut::<f32>()?.chunks_exact_mut(of_output));
            for (image, out) in images.take(self.batch) {
                if self.groups == 1 {
                    self.spread(image, &mut spread);
                }
                par_chunks_mut(out, plane, of_output, |first, out| {
                    self.convolve(image, &spread, first, out);
                    Ok(())
                })?;
            }
        }
        Ok(tvec!(output.into_tvalue()))
    }

    fn eval_out_of_plan(&self, _: TVec<TValue>) -> TractResult<Option<TVec<TValue>>> {
        Ok(None)
    }
}

impl TypedOp for Convolution {
    fn output_facts(&self, inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        Ok(tvec!(TypedFact::dt_shape(inputs[0].datum_type, &self.shape[..])))
    }

    as_op!();
}
