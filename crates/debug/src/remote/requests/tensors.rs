use std::fmt::Display;
use std::sync::Arc;

use opscope_model::DeviceTensors;
use opscope_onnx::OnnxError;
use opscope_tensor::{DType, Element, Region, Slice, Tensor, TensorError, TensorView};
use serde::{Deserialize, Serialize};

use super::models::graph;
use super::{Done, Perform, Reply, most, saturated};
use crate::error::{DebugError, ErrorCode, Refusal};
use crate::event::{ModelId, Sequence};
use crate::expression::{ConditionError, TensorPart, TensorRef};
use crate::remote::client::{Client, not_understood};
use crate::remote::protocol::Request;
use crate::session::Attachment;

/// The maximum number of bytes in a page of a tensor.
pub const PAGE_BYTES: usize = 16 << 20;

/// The place from which a tensor is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum At {
    /// Where a run is stopped.
    Event(Sequence),
    /// In a model's file. Weights can be read by the names of their values, whether a run is stopped or not.
    Model(ModelId),
    /// Among the outputs of the last run of a model, by their names or as `output[0]`. A program that is debugged from
    /// another process does not keep them.
    Outputs(ModelId),
}

/// Elements of a tensor, in the attachment of the answer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TensorRequest {
    /// Where the tensor is.
    #[serde(flatten)]
    pub at: At,
    /// The tensor, as text; a slice may follow.
    pub reference: String,
    /// The first element, counted in the slice.
    #[serde(default)]
    pub offset: u64,
    /// How many elements; fewer if a page is full.
    #[serde(default = "most")]
    pub count: u64,
}

/// The answer to `tensor`, which describes its attachment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageInfo {
    /// The type of its elements: `float32`.
    pub dtype: DType,
    /// The shape of the tensor, or of the slice if the reference has one.
    pub shape: Vec<usize>,
    /// How many elements that shape has.
    pub elements: u64,
    /// The first element of this page.
    pub offset: u64,
    /// How many elements this page has.
    pub count: u64,
}

/// Elements of a tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorPage {
    /// The type of its elements.
    pub dtype: DType,
    /// The shape of the tensor, or of the slice if the reference has one.
    pub shape: Vec<usize>,
    /// How many elements that shape has.
    pub elements: u64,
    /// The first element of this page.
    pub offset: u64,
    /// How many elements this page has.
    pub count: u64,
    /// The elements, little-endian and row-major.
    pub bytes: Vec<u8>,
}

/// See [`Attachment::replace`]. The tensor is attached.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ReplaceRequest {
    /// The event at which the run is stopped.
    pub event: Sequence,
    /// The tensor, as text.
    pub reference: String,
    /// The form of the new tensor.
    #[serde(flatten)]
    pub form: TensorForm,
}

/// The type and shape of a tensor that is attached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorForm {
    /// The type of its elements: `float32`.
    pub dtype: DType,
    /// Its shape.
    pub shape: Vec<usize>,
}

impl Request for TensorRequest {
    const NAME: &'static str = "tensor";
    const PURPOSE: &'static str = "returns elements of a tensor";
    type Answer = PageInfo;
}

impl Perform for TensorRequest {
    fn perform(self, attachment: &Attachment, _attached: Vec<u8>) -> Result<Reply<PageInfo>, Refusal> {
        let (offset, count) = (saturated(self.offset), saturated(self.count));
        let (page, bytes) = look(attachment, self.at, part(&self.reference)?, move |view, region| {
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
        })?;
        Ok(Reply::of(&page).with_attachment(bytes))
    }
}

impl Request for ReplaceRequest {
    const NAME: &'static str = "replace";
    const PURPOSE: &'static str = "replaces a tensor where a run is stopped";
    type Answer = Done;
}

impl Perform for ReplaceRequest {
    fn perform(self, attachment: &Attachment, attached: Vec<u8>) -> Result<Reply<Done>, Refusal> {
        let part = part(&self.reference)?;
        if part.slice.is_some() {
            let reason = "a part of a tensor cannot be; give the whole tensor".to_owned();
            return Err(DebugError::Replacement { reference: self.reference, reason }.into());
        }
        attachment.replace(self.event, part.tensor, self.form.tensor(attached)?)?;
        Ok(Reply::done())
    }
}

/// Parses a reference.
pub(super) fn part(reference: &str) -> Result<TensorPart, Refusal> {
    reference.parse().map_err(|error: ConditionError| Refusal::new(ErrorCode::Reference, error.to_string()))
}

/// Calls a function with a part of a tensor, without copying it.
pub(super) fn look<R: Send + 'static>(
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
            let graph = graph(attachment, model)?;
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
    let graph = graph(attachment, model)?;
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

impl TensorForm {
    /// Returns the type and shape of a tensor.
    pub fn of(tensor: &Tensor) -> Self {
        Self { dtype: tensor.dtype(), shape: tensor.shape().to_vec() }
    }

    /// Creates a tensor from these bytes.
    ///
    /// # Errors
    /// Returns an error if the number of bytes does not fit.
    pub fn tensor(&self, bytes: Vec<u8>) -> Result<Tensor, DebugError> {
        Ok(Tensor::new(self.dtype, self.shape.clone(), bytes)?)
    }

    /// Splits off the tensor at the beginning of these bytes.
    pub(super) fn split_from<'a>(&self, bytes: &'a [u8]) -> Result<(Tensor, &'a [u8]), DebugError> {
        let elements = self.shape.iter().try_fold(1usize, |all, &dim| all.checked_mul(dim));
        let length = elements.and_then(|elements| self.dtype.bytes_of(elements)).unwrap_or(usize::MAX);
        // If too few bytes are attached, the error of the tensor says how many it needs.
        let (own, rest) = bytes.split_at(length.min(bytes.len()));
        Ok((Tensor::new(self.dtype, self.shape.clone(), own)?, rest))
    }
}

impl From<Sequence> for At {
    fn from(event: Sequence) -> Self {
        At::Event(event)
    }
}

impl From<ModelId> for At {
    fn from(model: ModelId) -> Self {
        At::Model(model)
    }
}

impl TensorPage {
    /// Returns an element of this page by its index in the page.
    pub fn element(&self, index: usize) -> Option<Element> {
        if index as u64 >= self.count {
            return None;
        }
        Element::at(self.dtype, &self.bytes, index)
    }
}

/// Calls about tensors, at a stop (a [`Sequence`]) or in a model's file (a [`ModelId`]). A reference is a [`TensorPart`]
/// or its text.
///
/// All errors come from the program or from the connection.
#[allow(clippy::missing_errors_doc)]
impl Client {
    /// Returns elements of a tensor, from `offset` on: at most `count`, and at most as many as [a page](PAGE_BYTES) has.
    pub fn tensor(
        &self,
        at: impl Into<At>,
        reference: impl Display,
        offset: u64,
        count: u64,
    ) -> Result<TensorPage, DebugError> {
        let request = TensorRequest { at: at.into(), reference: reference.to_string(), offset, count };
        let (page, bytes) = self.ask_with(&request, &[])?;
        let PageInfo { dtype, shape, elements, offset, count } = page;
        let expected = usize::try_from(count).ok().and_then(|count| dtype.bytes_of(count));
        if expected != Some(bytes.len()) {
            let length = bytes.len();
            return Err(not_understood(format!("there are {length} bytes for {count} elements of {dtype}")));
        }
        Ok(TensorPage { dtype, shape, elements, offset, count, bytes })
    }

    /// Returns all elements of a tensor, page after page.
    pub fn whole_tensor(&self, at: impl Into<At>, reference: impl Display) -> Result<Tensor, DebugError> {
        let (at, reference) = (at.into(), reference.to_string());
        let mut whole = self.tensor(at, &reference, 0, u64::MAX)?;
        while whole.count < whole.elements {
            let page = self.tensor(at, &reference, whole.count, u64::MAX)?;
            if page.count == 0 || page.offset != whole.count {
                return Err(not_understood("a page of a tensor is missing"));
            }
            whole.bytes.extend_from_slice(&page.bytes);
            whole.count += page.count;
        }
        Ok(Tensor::new(whole.dtype, whole.shape, whole.bytes)?)
    }

    /// See [`Attachment::replace`].
    pub fn replace(&self, event: Sequence, reference: impl Display, tensor: &Tensor) -> Result<(), DebugError> {
        let request = ReplaceRequest { event, reference: reference.to_string(), form: TensorForm::of(tensor) };
        self.ask_with(&request, tensor.bytes()).map(drop)
    }
}
