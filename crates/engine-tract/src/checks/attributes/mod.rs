//! The requirements of ONNX for an operator's attributes and inputs, checked before the engine's own rules see them.
//!
//! The engine's rules do not check numbers: they count up to an axis of 2^40, compute 2^64 - 1 as the rank of a scalar
//! minus one, and read a number from an empty tensor.

mod trees;

use std::borrow::Cow;

use tract_onnx::pb::attribute_proto::AttributeType;
use tract_onnx::pb::{AttributeProto, NodeProto};
use tract_onnx::prelude::{DatumType, InferenceFact, Tensor};
use tract_onnx::tract_hir::infer::Factoid;

use crate::budget::guard::Refused;

/// A requirement for an operator. Slots are those in the file.
#[derive(Debug, Clone, Copy)]
enum Rule {
    /// The input in this slot has at least this many dimensions.
    AtLeast(usize, usize),
    /// The input in this slot has exactly this many dimensions.
    Exactly(usize, usize),
    /// The input in this slot is a single number.
    Number(usize),
    /// The input in this slot contains whole numbers: indices, sizes, axes.
    Whole(usize),
    /// These numbers are axes of the first input, each at most once.
    Axes(Numbers),
    /// This number is an axis of the first input, or the number of its axes.
    AxisOrEnd(Numbers),
    /// These numbers are axes of the output, which has one more axis than the first input for each of them. Each occurs
    /// once.
    NewAxes(Numbers),
    /// This number is an axis of the first input with one more axis added.
    NewAxis(Numbers),
    /// These numbers are all axes of the first input, each once.
    Permutation(Numbers),
    /// Each of these numbers is in this range, including both ends.
    Between(Numbers, i64, i64),
    /// There are this many of these numbers for each axis after batch and channel.
    ForEachSpatialAxis(Numbers, usize),
    /// Each step of a window is inside the padded input in this slot.
    Window(usize),
    /// The attribute is the number of leading axes that both inputs share. It is less than the rank of either.
    BatchAxes(&'static str),
    /// The lists of nodes form trees.
    Trees,
}

/// Where a rule's numbers are.
#[derive(Debug, Clone, Copy)]
enum Numbers {
    Attribute(&'static str),
    /// An input, if its value is known when the model is loaded.
    Input(usize),
}

use Numbers::{Attribute, Input};
use Rule::{
    AtLeast, Axes, AxisOrEnd, BatchAxes, Between, Exactly, ForEachSpatialAxis, NewAxes, NewAxis, Number, Permutation,
    Trees, Whole, Window,
};

const AXIS: Numbers = Attribute("axis");

/// How many elements one step of a window may take.
const LARGEST_WINDOW: i64 = 1 << 24;

/// How many inputs an operator may have: the engine compares each of them with all others.
const MOST_INPUTS: usize = 4096;

const WINDOW: &[Rule] = &[
    AtLeast(0, 3),
    Between(Attribute("kernel_shape"), 1, LARGEST_WINDOW),
    Between(Attribute("strides"), 1, i32::MAX as i64),
    Between(Attribute("dilations"), 1, LARGEST_WINDOW),
    Between(Attribute("pads"), 0, i32::MAX as i64),
    Between(Attribute("output_padding"), 0, LARGEST_WINDOW),
    Between(Attribute("group"), 1, LARGEST_WINDOW),
    ForEachSpatialAxis(Attribute("kernel_shape"), 1),
    ForEachSpatialAxis(Attribute("strides"), 1),
    ForEachSpatialAxis(Attribute("dilations"), 1),
    ForEachSpatialAxis(Attribute("pads"), 2),
    Window(0),
];

/// Returns the requirements for an operator.
fn rules(op_type: &str) -> &'static [Rule] {
    match op_type {
        "ArgMax" | "ArgMin" => &[AtLeast(0, 1), Axes(AXIS)],
        "ArrayFeatureExtractor" => &[AtLeast(0, 1), Whole(1)],
        "Attention" => &[AtLeast(0, 3), AtLeast(1, 3), AtLeast(2, 3)],
        "BatchNormalization" => &[AtLeast(0, 1), Exactly(1, 1), Exactly(2, 1), Exactly(3, 1), Exactly(4, 1)],
        "BlackmanWindow" | "HammingWindow" | "HannWindow" => &[Number(0), Whole(0)],
        "Clip" => &[Number(1), Number(2)],
        "Compress" => &[Axes(AXIS), Exactly(1, 1)],
        "Concat" => &[AtLeast(0, 1), Axes(AXIS)],
        "ConstantOfShape" => &[Exactly(0, 1), Whole(0)],
        "AveragePool" | "Conv" | "ConvInteger" | "ConvTranspose" | "LpPool" | "MaxPool" | "QLinearConv" => WINDOW,
        "CumSum" => &[AtLeast(0, 1), Number(1), Whole(1), Axes(Input(1))],
        "DFT" => &[AtLeast(0, 2), Number(1), Whole(1), Number(2), Whole(2), Axes(AXIS), Axes(Input(2))],
        "DepthToSpace" | "SpaceToDepth" => &[Exactly(0, 4), Between(Attribute("blocksize"), 1, i32::MAX as i64)],
        "DequantizeLinear" | "QuantizeLinear" => &[Between(Attribute("block_size"), 0, i32::MAX as i64)],
        "Dropout" => &[Number(1), Number(2)],
        "Expand" => &[Exactly(1, 1), Whole(1)],
        "EyeLike" => &[Exactly(0, 2)],
        "Flatten" => &[AxisOrEnd(AXIS)],
        "GRU" | "LSTM" | "RNN" => &[Exactly(0, 3), Exactly(1, 3), Exactly(2, 3)],
        "Gather" | "GatherElements" | "Scatter" | "ScatterElements" => &[AtLeast(0, 1), Whole(1), Axes(AXIS)],
        "GatherND" => &[AtLeast(0, 1), AtLeast(1, 1), Whole(1), BatchAxes("batch_dims")],
        "Gemm" => &[Exactly(0, 2), Exactly(1, 2)],
        "GlobalAveragePool" | "GlobalLpPool" | "GlobalMaxPool" => &[AtLeast(0, 2)],
        "GridSample" => &[AtLeast(0, 3), AtLeast(1, 3)],
        "GroupNormalization" => &[AtLeast(0, 2), Between(Attribute("num_groups"), 1, i32::MAX as i64)],
        "Hardmax" | "LogSoftmax" | "Softmax" => &[AtLeast(0, 1), Axes(AXIS)],
        "If" => &[Number(0)],
        "InstanceNormalization" => &[AtLeast(0, 2), Exactly(1, 1), Exactly(2, 1)],
        "Loop" => &[Number(0), Number(1)],
        "LRN" => &[AtLeast(0, 2), Between(Attribute("size"), 1, i32::MAX as i64)],
        "LayerNormalization" | "RMSNormalization" | "SimplifiedLayerNormalization" => &[AtLeast(0, 1), Axes(AXIS)],
        "LinearClassifier" | "LinearRegressor" | "Normalizer" => &[AtLeast(0, 1)],
        "LpNormalization" => &[AtLeast(0, 1), Axes(AXIS), Between(Attribute("p"), 1, 2)],
        "MatMul" | "MatMulInteger" => &[AtLeast(0, 1), AtLeast(1, 1)],
        "MatMulNBits" => &[AtLeast(0, 1)],
        "MeanVarianceNormalization" => &[Axes(Attribute("axes"))],
        "MelWeightMatrix" => &[Number(0), Number(1), Number(2), Number(3), Number(4)],
        "Multinomial" => &[Exactly(0, 2), Between(Attribute("sample_size"), 1, i32::MAX as i64)],
        "NonMaxSuppression" => &[Exactly(0, 3), Exactly(1, 3), Number(2), Whole(2), Number(3), Number(4)],
        "OneHot" => &[Number(1), Exactly(2, 1), NewAxis(AXIS)],
        "Pad" => &[Exactly(1, 1), Whole(1), Number(2), Exactly(3, 1), Whole(3), Axes(Input(3))],
        "QLinearMatMul" => &[AtLeast(0, 1), AtLeast(3, 1)],
        "Range" => &[Number(0), Number(1), Number(2)],
        "ReduceL1" | "ReduceL2" | "ReduceLogSum" | "ReduceLogSumExp" | "ReduceMax" | "ReduceMean" | "ReduceMin"
        | "ReduceProd" | "ReduceSum" | "ReduceSumSquare" => &[Axes(Attribute("axes")), Whole(1), Axes(Input(1))],
        "Reshape" => &[Exactly(1, 1), Whole(1)],
        "Resize" => &[AtLeast(0, 1), Axes(Attribute("axes"))],
        "RotaryEmbedding" => &[AtLeast(0, 3)],
        "STFT" => &[AtLeast(0, 2), Number(1), Whole(1), Exactly(2, 1), Number(3), Whole(3)],
        "ScatterND" => &[AtLeast(0, 1), AtLeast(1, 1), Whole(1)],
        "SkipLayerNormalization" | "SkipSimplifiedLayerNormalization" => &[AtLeast(0, 1)],
        "Slice" => &[Axes(Attribute("axes")), Whole(1), Whole(2), Whole(3), Whole(4), Axes(Input(3))],
        "Split" => &[AtLeast(0, 1), Axes(AXIS), Exactly(1, 1), Whole(1)],
        "Squeeze" => &[Axes(Attribute("axes")), Whole(1), Axes(Input(1))],
        "Tile" => &[Exactly(1, 1), Whole(1)],
        "TopK" => &[AtLeast(0, 1), Number(1), Whole(1), Axes(AXIS)],
        "Transpose" => &[Permutation(Attribute("perm"))],
        "TreeEnsembleClassifier" => &[AtLeast(0, 1), Trees],
        "Trilu" => &[AtLeast(0, 2), Number(1), Whole(1)],
        "Unsqueeze" => &[NewAxes(Attribute("axes")), Whole(1), NewAxes(Input(1))],
        _ => &[],
    }
}

/// Returns how many of an operator's first inputs must be present. The engine counts only the present ones, so an
/// omitted one would shift the next into its place.
fn required(op_type: &str) -> usize {
    match op_type {
        "ArrayFeatureExtractor"
        | "Compress"
        | "Conv"
        | "ConvInteger"
        | "ConvTranspose"
        | "CumSum"
        | "DequantizeLinear"
        | "Expand"
        | "Gather"
        | "GatherElements"
        | "GatherND"
        | "Gemm"
        | "GridSample"
        | "LayerNormalization"
        | "MatMul"
        | "MatMulInteger"
        | "NonMaxSuppression"
        | "QuantizeLinear"
        | "RMSNormalization"
        | "Reshape"
        | "STFT"
        | "SimplifiedLayerNormalization"
        | "Tile"
        | "TopK" => 2,
        "Attention"
        | "GRU"
        | "GroupNormalization"
        | "InstanceNormalization"
        | "LSTM"
        | "MatMulNBits"
        | "OneHot"
        | "RNN"
        | "Range"
        | "Scatter"
        | "ScatterElements"
        | "ScatterND"
        | "Where" => 3,
        "BatchNormalization" | "MelWeightMatrix" => 5,
        "QLinearConv" | "QLinearMatMul" => 8,
        // Their first inputs are optional; the engine never sees `Loop` or the old `Scan` in their original form.
        "Loop" | "Scan" => 0,
        _ => 1,
    }
}

/// Checks a node against what is known about its inputs: those in the file, in its order.
///
/// # Errors
/// Refuses the node, with what is wrong as a sentence.
pub(crate) fn check(node: &NodeProto, inputs: &[InferenceFact]) -> Result<(), Refused> {
    let checked = Node { node, inputs };
    if node.input.len() > MOST_INPUTS {
        return checked.refuse(format!("it has {} inputs, and may have {MOST_INPUTS}", node.input.len()));
    }
    if let Some(slot) = node.input.iter().take(required(&node.op_type)).position(String::is_empty) {
        return checked.refuse(format!("its input {slot} is left out, which {} needs", node.op_type));
    }
    rules(&node.op_type).iter().try_for_each(|rule| checked.check(*rule))
}

/// A node, and what is known about its inputs.
struct Node<'a> {
    node: &'a NodeProto,
    inputs: &'a [InferenceFact],
}

impl Node<'_> {
    fn refuse(&self, reason: String) -> Result<(), Refused> {
        Err(Refused { node: self.node.name.clone(), reason })
    }

    fn check(&self, rule: Rule) -> Result<(), Refused> {
        match rule {
            AtLeast(slot, least) => match self.rank(slot) {
                Some(rank) if rank < least => {
                    self.refuse(format!("its input {slot} has rank {rank} and needs at least {least}"))
                }
                _ => Ok(()),
            },
            Exactly(slot, wanted) => match self.rank(slot) {
                Some(rank) if rank != wanted => {
                    self.refuse(format!("its input {slot} has rank {rank} and needs {wanted}"))
                }
                _ => Ok(()),
            },
            Number(slot) => match self.dims(slot) {
                Some(dims) if dims.iter().any(|dim| dim.is_some_and(|dim| dim != 1)) => {
                    self.refuse(format!("its input {slot} must be a single number"))
                }
                _ => Ok(()),
            },
            Whole(slot) => match self.fact(slot).and_then(|fact| fact.datum_type.concretize()) {
                Some(datum) if !datum.is_integer() && datum != DatumType::TDim => {
                    self.refuse(format!("its input {slot} must hold whole numbers"))
                }
                _ => Ok(()),
            },
            Axes(numbers) => self.check_axes(numbers, self.rank(0)),
            NewAxes(numbers) => {
                let more = self.numbers(numbers).map_or(0, |numbers| numbers.len());
                self.check_axes(numbers, self.rank(0).map(|rank| rank + more))
            }
            NewAxis(numbers) => self.check_axes(numbers, self.rank(0).map(|rank| rank + 1)),
            AxisOrEnd(numbers) => {
                let rank = self.rank(0).map_or(i64::MAX, |rank| rank as i64);
                self.check_between(numbers, -rank, rank)
            }
            Permutation(numbers) => self.check_permutation(numbers),
            Between(numbers, least, most) => self.check_between(numbers, least, most),
            ForEachSpatialAxis(numbers, each) => self.check_count(numbers, each),
            Window(slot) => self.check_window(slot),
            BatchAxes(name) => {
                let ranks = self.rank(0).zip(self.rank(1)).map_or(usize::MAX, |(data, indices)| data.min(indices));
                self.check_between(Attribute(name), 0, i64::try_from(ranks).unwrap_or(i64::MAX).saturating_sub(1))
            }
            Trees => self.check_trees(),
        }
    }

    /// Checks that numbers are axes of a tensor with this rank, each at most once.
    fn check_axes(&self, numbers: Numbers, rank: Option<usize>) -> Result<(), Refused> {
        let (Some(axes), Some(rank)) = (self.numbers(numbers), rank) else { return Ok(()) };
        let rank = rank as i64;
        let mut taken = vec![false; rank as usize];
        for &axis in axes.iter() {
            if axis < -rank || axis >= rank {
                return self.refuse(format!("{} has the axis {axis}, and there are {rank} axes", self.called(numbers)));
            }
            let place = &mut taken[axis.rem_euclid(rank) as usize];
            if std::mem::replace(place, true) {
                return self.refuse(format!("{} has the axis {axis} twice", self.called(numbers)));
            }
        }
        Ok(())
    }

    fn check_permutation(&self, numbers: Numbers) -> Result<(), Refused> {
        let Some(axes) = self.numbers(numbers) else { return Ok(()) };
        let mut sorted = axes.to_vec();
        sorted.sort_unstable();
        if !sorted.iter().zip(0..).all(|(axis, place)| *axis == place) {
            return self.refuse(format!("{} is {}, which is not an order of axes", self.called(numbers), shown(&axes)));
        }
        match self.rank(0).filter(|rank| *rank != axes.len()) {
            Some(rank) => self.refuse(format!(
                "{} is for rank {}, and its input has rank {rank}",
                self.called(numbers),
                axes.len()
            )),
            None => Ok(()),
        }
    }

    fn check_between(&self, numbers: Numbers, least: i64, most: i64) -> Result<(), Refused> {
        let all = self.numbers(numbers).unwrap_or_default();
        match all.iter().find(|number| !(least..=most).contains(*number)) {
            Some(number) => {
                self.refuse(format!("{} has {number}, and may be from {least} to {most}", self.called(numbers)))
            }
            None => Ok(()),
        }
    }

    fn check_count(&self, numbers: Numbers, each: usize) -> Result<(), Refused> {
        let (Some(numbers_given), Some(rank)) = (self.numbers(numbers), self.rank(0)) else { return Ok(()) };
        let (found, wanted) = (numbers_given.len(), rank.saturating_sub(2) * each);
        if found == wanted {
            return Ok(());
        }
        self.refuse(format!(
            "{} has {found} numbers, and its input of rank {rank} needs {wanted}",
            self.called(numbers)
        ))
    }

    /// Checks how many elements a step of the window takes, and that the padded input has at least as many.
    fn check_window(&self, slot: usize) -> Result<(), Refused> {
        let Some(kernel) = self.numbers(Attribute("kernel_shape")) else { return Ok(()) };
        let elements = kernel.iter().try_fold(1i64, |all, size| all.checked_mul(*size));
        if elements.is_none_or(|elements| elements > LARGEST_WINDOW) {
            let kernel = shown(&kernel);
            return self.refuse(format!("kernel_shape is {kernel}, and may have {LARGEST_WINDOW} elements at most"));
        }
        // With one of these attributes, a step may extend beyond the end of the input.
        let reaches_over = |attribute: &AttributeProto| {
            (attribute.name == "auto_pad" && !matches!(&attribute.s[..], b"" | b"NOTSET"))
                || (attribute.name == "ceil_mode" && attribute.i != 0)
        };
        if self.node.op_type == "ConvTranspose" || self.node.attribute.iter().any(reaches_over) {
            return Ok(());
        }
        let Some(dims) = self.dims(slot) else { return Ok(()) };
        let dilations = self.numbers(Attribute("dilations")).unwrap_or_default();
        let pads = self.numbers(Attribute("pads")).unwrap_or_default();
        let at = |numbers: &[i64], axis: usize, default| numbers.get(axis).copied().unwrap_or(default);
        for (axis, &size) in kernel.iter().enumerate() {
            let Some(&Some(length)) = dims.get(axis + 2) else { continue };
            let extent = (size - 1).saturating_mul(at(&dilations, axis, 1)).saturating_add(1);
            let padded = length + at(&pads, axis, 0) + at(&pads, axis + kernel.len(), 0);
            if extent > padded {
                return self.refuse(format!(
                    "its kernel takes {extent} elements of axis {}, which has {padded} with its padding",
                    axis + 2
                ));
            }
        }
        Ok(())
    }

    /// Returns what is known about an input.
    fn fact(&self, slot: usize) -> Option<&InferenceFact> {
        let is_given = |name: &&String| !name.is_empty();
        self.node.input.get(slot).filter(is_given)?;
        self.inputs.get(self.node.input[..slot].iter().filter(is_given).count())
    }

    fn rank(&self, slot: usize) -> Option<usize> {
        usize::try_from(self.fact(slot)?.shape.rank().concretize()?).ok()
    }

    /// Returns the dimensions of an input, if their number is known.
    fn dims(&self, slot: usize) -> Option<Vec<Option<i64>>> {
        let fact = self.fact(slot)?;
        let dims = fact.shape.dims().map(|dim| dim.concretize()?.to_i64().ok());
        (!fact.shape.is_open()).then(|| dims.collect())
    }

    /// Returns the whole numbers of an attribute, or of an input that is known.
    fn numbers(&self, numbers: Numbers) -> Option<Cow<'_, [i64]>> {
        match numbers {
            Attribute(name) => {
                let attribute = self.node.attribute.iter().find(|attribute| attribute.name == name)?;
                Some(if attribute.ints.is_empty() && is_number(attribute) {
                    Cow::Owned(vec![attribute.i])
                } else {
                    Cow::Borrowed(&attribute.ints)
                })
            }
            Input(slot) => whole_numbers(&*self.fact(slot)?.value.concretize()?).map(Cow::Owned),
        }
    }

    fn called(&self, numbers: Numbers) -> String {
        match numbers {
            Attribute(name) => format!("its attribute {name}"),
            Input(slot) => format!("its input {slot}"),
        }
    }
}

fn is_number(attribute: &AttributeProto) -> bool {
    attribute.r#type == AttributeType::Int as i32
}

fn whole_numbers(tensor: &Tensor) -> Option<Vec<i64>> {
    let numbers = tensor.cast_to::<i64>().ok()?;
    let numbers = numbers.as_plain_ram()?.as_slice::<i64>().ok()?.to_vec();
    Some(numbers)
}

/// Formats a list of numbers for a message.
fn shown(numbers: &[i64]) -> String {
    const MOST: usize = 8;
    let shown: Vec<String> = numbers.iter().take(MOST).map(i64::to_string).collect();
    let rest = if numbers.len() > MOST { ", ..." } else { "" };
    format!("[{}{rest}]", shown.join(", "))
}
