use std::ops::ControlFlow;
use std::sync::Arc;

use opscope_model::DeviceTensors;
use opscope_onnx::OnnxError;
use opscope_tensor::{Accumulator, Histogram, Region, Slice, Tensor, TensorError, TensorView, TopBy};

use super::graphs;
use crate::error::{DebugError, ErrorCode, Refusal};
use crate::event::{ModelId, StatisticsSummary};
use crate::expression::{TensorPart, TensorRef};
use crate::remote::protocol::{At, HistogramInfo, MOST_RANKED, PAGE_BYTES, PageInfo, Ranked};
use crate::session::Attachment;

/// Returns a page of a tensor, from element `offset` on.
pub(super) fn page(
    attachment: &Attachment,
    at: At,
    part: TensorPart,
    offset: usize,
    count: usize,
) -> Result<(PageInfo, Vec<u8>), DebugError> {
    look(attachment, at, part, move |view, region| {
        let (dtype, elements) = (view.dtype(), region.elements());
        if offset > elements {
            let message = format!("element {offset} was asked for, and there are {elements}");
            return Err(Refusal::new(ErrorCode::Offset, message).into());
        }
        let room = dtype.elements_in(PAGE_BYTES).ok_or(TensorError::NoBytes(dtype))?;
        let page = region.page(view, offset, count.min(room))?;
        let info = PageInfo {
            dtype,
            shape: region.shape().to_vec(),
            elements: elements as u64,
            offset: offset as u64,
            count: page.elements() as u64,
        };
        Ok((info, page.bytes().to_vec()))
    })
}

/// Returns the statistics of a tensor.
pub(super) fn statistics(attachment: &Attachment, at: At, part: TensorPart) -> Result<StatisticsSummary, DebugError> {
    look(attachment, at, part, |view, region| {
        let mut accumulator = Accumulator::new(view.dtype(), region.elements())?;
        region.pieces(view, |bytes| {
            accumulator.update(bytes);
            ControlFlow::Continue(())
        })?;
        Ok(StatisticsSummary::new(view.dtype(), region.shape(), &accumulator.finish()))
    })
}

/// Returns the histogram of a tensor.
pub(super) fn histogram(attachment: &Attachment, at: At, part: TensorPart) -> Result<HistogramInfo, DebugError> {
    look(attachment, at, part, |view, region| {
        let (mut histogram, mut left) = (Histogram::default(), region.elements());
        region.pieces(view, |bytes| {
            histogram.update(view.dtype(), bytes, left);
            left -= view.dtype().elements_in(bytes.len()).unwrap_or(left).min(left);
            ControlFlow::Continue(())
        })?;
        Ok(HistogramInfo::new(&histogram))
    })
}

/// Returns the largest elements of a tensor.
pub(super) fn top_k(
    attachment: &Attachment,
    at: At,
    part: TensorPart,
    k: usize,
    magnitude: bool,
) -> Result<Vec<Ranked>, DebugError> {
    let (by, k) = (if magnitude { TopBy::Magnitude } else { TopBy::Value }, k.min(MOST_RANKED));
    look(attachment, at, part, move |view, region| {
        let top = match region.contiguous() {
            Some(range) if range.len() == view.elements() => opscope_tensor::top_k(view, k, by)?,
            _ => opscope_tensor::top_k(&region.copy(view)?.view(), k, by)?,
        };
        let ranked = top
            .into_iter()
            .map(|(flat, element)| Ranked { index: unravel(flat, region.shape()), value: element.to_string() });
        Ok(ranked.collect())
    })
}

/// Calls a function with a part of a tensor, without copying it.
fn look<R: Send + 'static>(
    attachment: &Attachment,
    at: At,
    part: TensorPart,
    look: impl FnOnce(&TensorView<'_>, &Region) -> Result<R, DebugError> + Send + 'static,
) -> Result<R, DebugError> {
    let slice = part.slice.unwrap_or_else(Slice::all);
    let sliced = move |view: &TensorView<'_>| {
        let region = slice.resolve(view.shape()).map_err(|error| Refusal::new(ErrorCode::Slice, error.to_string()))?;
        look(view, &region)
    };
    match at {
        At::Event(event) => attachment.look(event, move |stopped| sliced(&stopped.tensor(&part.tensor)?))?,
        At::Model(model) => sliced(&weight(attachment, model, &part.tensor)?.view()),
        At::Outputs(model) => {
            let (outputs, slot) = kept_output(attachment, model, &part.tensor)?;
            sliced(&outputs.view(slot))
        }
    }
}

/// Returns the outputs of the last run of a model, and the slot of the output that is referred to.
fn kept_output(
    attachment: &Attachment,
    model: ModelId,
    reference: &TensorRef,
) -> Result<(Arc<dyn DeviceTensors>, usize), DebugError> {
    let missing = |reason: String| DebugError::NoSuchTensor { reference: reference.to_string(), reason };
    let outputs = attachment.kept_outputs(model)?;
    let outputs = outputs.ok_or_else(|| missing("no run has ended whose outputs the program keeps".to_owned()))?;
    let slot = match reference {
        TensorRef::Output(slot) => Some(*slot).filter(|slot| *slot < outputs.len()),
        TensorRef::Value(name) => {
            let graph = graphs::graph(attachment, model)?;
            graph.outputs.iter().position(|&output| graph.value(output).name == *name)
        }
        TensorRef::Input(_) | TensorRef::Weight(_) => None,
    };
    let slot = slot.ok_or_else(|| missing(format!("it is none of the model's {} outputs", outputs.len())))?;
    Ok((outputs, slot))
}

/// Reads a weight from the model's file.
fn weight(attachment: &Attachment, model: ModelId, reference: &TensorRef) -> Result<Tensor, DebugError> {
    let missing =
        |reason: &str| DebugError::NoSuchTensor { reference: reference.to_string(), reason: reason.to_owned() };
    let TensorRef::Value(name) = reference else {
        return Err(missing("in a model's file there are weights only, by the names of their values"));
    };
    let graph = graphs::graph(attachment, model)?;
    let value = graph.value_named(name).ok_or_else(|| missing("the model has no value of this name"))?.id;
    let mut found = None;
    let read = graph.initializers(
        |id| id == value,
        |_, tensor| {
            found = Some(tensor.clone());
            Ok::<(), OnnxError>(())
        },
    );
    read.map_err(|error| Refusal::new(ErrorCode::Tensor, error.to_string()))?;
    found.ok_or_else(|| missing("the model's file does not hold this value: it is computed in each run"))
}

/// Returns the index of an element for each axis.
fn unravel(flat: usize, shape: &[usize]) -> Vec<usize> {
    let mut left = flat;
    let mut index: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&size| {
            let at = left % size;
            left /= size;
            at
        })
        .collect();
    index.reverse();
    index
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_found_on_each_axis() {
        for (flat, shape, index) in [
            (0, &[2, 3, 4][..], &[0, 0, 0][..]),
            (3, &[2, 3, 4], &[0, 0, 3]),
            (4, &[2, 3, 4], &[0, 1, 0]),
            (12, &[2, 3, 4], &[1, 0, 0]),
            (23, &[2, 3, 4], &[1, 2, 3]),
            (5, &[7], &[5]),
            (0, &[], &[]),
        ] {
            assert_eq!(unravel(flat, shape), index, "element {flat} of {shape:?}");
        }
    }
}
