use std::fmt::Display;

use opscope_tensor::Tensor;
use serde::Deserialize;

use super::{Client, link};
use crate::error::DebugError;
use crate::event::{Sequence, StatisticsSummary};
use crate::remote::protocol::{At, HistogramInfo, PageInfo, Ranked, Request, TensorForm, TensorPage};

#[derive(Deserialize)]
struct EmptyAnswer {}

#[derive(Deserialize)]
struct Top {
    elements: Vec<Ranked>,
}

/// Calls about tensors, at a stop (a [`Sequence`]) or in a model's file (a [`ModelId`](crate::ModelId)). A reference is
/// a [`TensorPart`](crate::expression::TensorPart) or its text.
///
/// All errors come from the program or from the connection.
#[allow(clippy::missing_errors_doc)]
impl Client {
    /// Returns elements of a tensor, from `offset` on: at most `count`, and at most as many as [a
    /// page](crate::protocol::PAGE_BYTES) has.
    pub fn tensor(
        &self,
        at: impl Into<At>,
        reference: impl Display,
        offset: u64,
        count: u64,
    ) -> Result<TensorPage, DebugError> {
        let request = Request::Tensor { at: at.into(), reference: reference.to_string(), offset, count };
        let answer = self.ask_with(&request, &[])?;
        let page: PageInfo = link::read_answer(&answer)?;
        let dtype = page.dtype;
        let expected = usize::try_from(page.count).ok().and_then(|count| dtype.bytes_of(count));
        if expected != Some(answer.attachment.len()) {
            let (bytes, count) = (answer.attachment.len(), page.count);
            return Err(link::not_understood(format!("there are {bytes} bytes for {count} elements of {dtype}")));
        }
        Ok(TensorPage {
            dtype,
            shape: page.shape,
            elements: page.elements,
            offset: page.offset,
            count: page.count,
            bytes: answer.attachment,
        })
    }

    /// Returns all elements of a tensor, page after page.
    pub fn whole_tensor(&self, at: impl Into<At>, reference: impl Display) -> Result<Tensor, DebugError> {
        let (at, reference) = (at.into(), reference.to_string());
        let mut whole = self.tensor(at, &reference, 0, u64::MAX)?;
        while whole.count < whole.elements {
            let page = self.tensor(at, &reference, whole.count, u64::MAX)?;
            if page.count == 0 || page.offset != whole.count {
                return Err(link::not_understood("a page of a tensor is missing"));
            }
            whole.bytes.extend_from_slice(&page.bytes);
            whole.count += page.count;
        }
        Ok(Tensor::new(whole.dtype, whole.shape, whole.bytes)?)
    }

    /// Returns the statistics of a tensor.
    pub fn statistics(&self, at: impl Into<At>, reference: impl Display) -> Result<StatisticsSummary, DebugError> {
        self.ask(&Request::Statistics { at: at.into(), reference: reference.to_string() })
    }

    /// Returns the counts of a tensor's elements by powers of two.
    pub fn histogram(&self, at: impl Into<At>, reference: impl Display) -> Result<HistogramInfo, DebugError> {
        self.ask(&Request::Histogram { at: at.into(), reference: reference.to_string() })
    }

    /// Returns the `k` largest elements of a tensor, by value or by magnitude; [at most this
    /// many](crate::protocol::MOST_RANKED).
    pub fn top_k(
        &self,
        at: impl Into<At>,
        reference: impl Display,
        k: usize,
        magnitude: bool,
    ) -> Result<Vec<Ranked>, DebugError> {
        let (at, reference, k) = (at.into(), reference.to_string(), k as u64);
        self.ask(&Request::TopK { at, reference, k, magnitude }).map(|Top { elements }| elements)
    }

    /// See [`Attachment::replace`](crate::Attachment::replace).
    pub fn replace(&self, event: Sequence, reference: impl Display, tensor: &Tensor) -> Result<(), DebugError> {
        let form = TensorForm::of(tensor);
        let answer =
            self.ask_with(&Request::Replace { event, reference: reference.to_string(), form }, tensor.bytes())?;
        link::read_answer(&answer).map(|EmptyAnswer {}| ())
    }
}
