use opscope_model::LoopIteration;
use opscope_tensor::{DType, ScanQuery, ScanResult, SliceError, TensorError, TensorView};

use super::function::Quantity;
use super::tensor_ref::{TensorPart, TensorRef};
use super::tree::{Number, Shape, Subject, Truth, Type};

/// The tensors over which a condition is evaluated: those at the place where a run is stopped.
pub trait Tensors {
    /// Returns a tensor; `None` if there is no such tensor here.
    fn view(&self, tensor: &TensorRef) -> Option<TensorView<'_>>;

    /// Returns the tensors of the side at which the run is stopped: the inputs before an operator, the outputs after
    /// it.
    fn subjects(&self) -> &[TensorView<'_>];

    /// Returns the iterations of the loops around the operator, outermost first.
    fn iterations(&self) -> &[LoopIteration] {
        &[]
    }
}

/// Why a condition could not be evaluated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EvaluateError {
    /// A tensor that it names does not exist here.
    #[error("there is no {0} here")]
    NoTensor(TensorRef),
    /// A part of a tensor that it names does not exist.
    #[error("{part} cannot be had: {reason}")]
    NoPart {
        /// The part.
        part: TensorPart,
        /// The reason.
        reason: SliceError,
    },
    /// The data of a tensor cannot be read.
    #[error("the elements of {} cannot be read: {reason}", .part.as_ref().map_or("a tensor".to_owned(), |part| part.to_string()))]
    Data {
        /// The tensor; `None` if the condition names none.
        part: Option<TensorPart>,
        /// The reason.
        reason: TensorError,
    },
}

/// The state of one evaluation.
pub(super) struct Evaluation<'a> {
    plan: &'a [(Subject, ScanQuery)],
    tensors: &'a dyn Tensors,
    /// The results, one for each search of the plan; `None` until the elements have been searched.
    found: Vec<Option<ScanResult>>,
}

impl<'a> Evaluation<'a> {
    pub fn new(plan: &'a [(Subject, ScanQuery)], tensors: &'a dyn Tensors) -> Self {
        Self { plan, tensors, found: Vec::new() }
    }

    pub fn truth(&mut self, truth: &Truth) -> Result<Option<bool>, EvaluateError> {
        match truth {
            Truth::Any(terms) => self.terms(terms, true),
            Truth::All(terms) => self.terms(terms, false),
            Truth::Not(truth) => Ok(self.truth(truth)?.map(|holds| !holds)),
            Truth::Compare(left, relation, right) => {
                let (left, right) = (self.number(left)?, self.number(right)?);
                Ok(left.zip(right).map(|(left, right)| relation.holds(left, right)))
            }
            Truth::Shapes(left, equal, right) => {
                let (left, right) = (self.shape(left)?, self.shape(right)?);
                Ok(left.zip(right).map(|(left, right)| (left == right) == *equal))
            }
            Truth::Types(left, equal, right) => {
                let (left, right) = (self.dtype(left)?, self.dtype(right)?);
                Ok(left.zip(right).map(|(left, right)| (left == right) == *equal))
            }
            Truth::NonZero(number) => Ok(self.number(number)?.map(|number| number != 0.0)),
        }
    }

    /// Evaluates terms until the value of one is `decisive`. Terms that read no elements come first.
    fn terms(&mut self, terms: &[Truth], decisive: bool) -> Result<Option<bool>, EvaluateError> {
        for term in terms.iter().filter(|term| !term.looks_at_elements()) {
            // Errors are ignored here: the second loop returns them, unless an earlier term decides.
            if self.truth(term) == Ok(Some(decisive)) {
                return Ok(Some(decisive));
            }
        }
        let mut all = Some(!decisive);
        for term in terms {
            match self.truth(term)? {
                Some(truth) if truth == decisive => return Ok(Some(decisive)),
                Some(_) => (),
                None => all = None,
            }
        }
        Ok(all)
    }

    fn number(&mut self, number: &Number) -> Result<Option<f64>, EvaluateError> {
        let value = match number {
            Number::Literal(value) => Some(*value),
            Number::Negative(number) => self.number(number)?.map(|value| -value),
            Number::Sum(first, rest) => self.operation(first, rest, |sum, number, is_direct| match is_direct {
                true => sum + number,
                false => sum - number,
            })?,
            Number::Product(first, rest) => {
                self.operation(first, rest, |product, number, is_direct| match is_direct {
                    true => product * number,
                    false => product / number,
                })?
            }
            Number::Quantity(quantity, subject) => self.quantity(*quantity, subject)?,
            Number::Rank(subject) => self.with_first(subject, |shape, _| shape.len() as f64)?,
            Number::Size(subject, axis) => {
                let size = |shape: &[usize]| shape.get(place(*axis, shape.len())?).map(|&size| size as f64);
                self.with_first(subject, |shape, _| size(shape))?.flatten()
            }
            Number::Iteration(level) => {
                let iterations = self.tensors.iterations();
                let here = place(*level, iterations.len()).and_then(|place| iterations.get(place));
                here.map(|iteration| f64::from(iteration.index))
            }
        };
        Ok(value.filter(|value| !value.is_nan()))
    }

    fn operation(
        &mut self,
        first: &Number,
        rest: &[(bool, Number)],
        join: impl Fn(f64, f64, bool) -> f64,
    ) -> Result<Option<f64>, EvaluateError> {
        let mut all = self.number(first)?;
        for (is_direct, number) in rest {
            let number = self.number(number)?;
            all = all.zip(number).map(|(all, number)| join(all, number, *is_direct));
        }
        Ok(all)
    }

    fn shape<'b>(&self, shape: &'b Shape) -> Result<Option<std::borrow::Cow<'b, [usize]>>, EvaluateError> {
        match shape {
            Shape::Literal(sizes) => Ok(Some(sizes.into())),
            Shape::Of(subject) => self.with_first(subject, |shape, _| shape.to_vec().into()),
        }
    }

    fn dtype(&self, dtype: &Type) -> Result<Option<DType>, EvaluateError> {
        match dtype {
            Type::Literal(dtype) => Ok(Some(*dtype)),
            Type::Of(subject) => self.with_first(subject, |_, dtype| dtype),
        }
    }

    /// Returns a property of a tensor's shape or type; `None` if the side at which the run is stopped has no tensor.
    fn with_first<T>(
        &self,
        subject: &Subject,
        give: impl FnOnce(&[usize], DType) -> T,
    ) -> Result<Option<T>, EvaluateError> {
        let Subject::Tensor(part) = subject else {
            return Ok(self.tensors.subjects().first().map(|view| give(view.shape(), view.dtype())));
        };
        let view = self.view(part)?;
        Ok(Some(match &part.slice {
            None => give(view.shape(), view.dtype()),
            Some(slice) => {
                let region = slice.resolve(view.shape()).map_err(|reason| no_part(part, reason))?;
                give(region.shape(), view.dtype())
            }
        }))
    }

    fn quantity(&mut self, quantity: Quantity, subject: &Subject) -> Result<Option<f64>, EvaluateError> {
        if quantity == Quantity::Count {
            return self.count(subject).map(|count| Some(count as f64));
        }
        let found = self.result(subject)?;
        Ok(match quantity {
            Quantity::Nan => Some(found.nan as f64),
            Quantity::Inf => Some(found.infinite as f64),
            Quantity::Zeros => Some(found.zeros as f64),
            Quantity::AbsMax => found.absmax,
            Quantity::Min => found.min,
            Quantity::Max => found.max,
            Quantity::Mean => found.mean,
            Quantity::Std => found.std,
            Quantity::L2 => found.l2,
            Quantity::Count => unreachable!("this needs no look at the elements"),
        })
    }

    fn count(&self, subject: &Subject) -> Result<usize, EvaluateError> {
        match subject {
            Subject::Stopped => Ok(self.tensors.subjects().iter().map(TensorView::elements).sum()),
            part => Ok(self.with_first(part, |shape, _| shape.iter().product())?.unwrap_or(0)),
        }
    }

    fn result(&mut self, subject: &Subject) -> Result<ScanResult, EvaluateError> {
        let number = self.plan.iter().position(|(known, _)| known == subject).expect("the plan has every subject");
        self.found.resize(self.plan.len(), None);
        if let Some(found) = self.found[number] {
            return Ok(found);
        }
        let query = self.plan[number].1;
        let found = match subject {
            Subject::Stopped => self.together(query)?,
            Subject::Tensor(part) => self.part(part, query)?,
        };
        self.found[number] = Some(found);
        Ok(found)
    }

    fn together(&self, query: ScanQuery) -> Result<ScanResult, EvaluateError> {
        let mut all = ScanResult::default();
        let mut left = query;
        for view in self.tensors.subjects() {
            let found = search(view, left).map_err(|reason| EvaluateError::Data { part: None, reason })?;
            all = all.join(found);
            left = left.without_present(&all);
        }
        Ok(all)
    }

    fn part(&self, part: &TensorPart, query: ScanQuery) -> Result<ScanResult, EvaluateError> {
        let view = self.view(part)?;
        let data = |reason| EvaluateError::Data { part: Some(part.clone()), reason };
        let Some(slice) = &part.slice else { return search(&view, query).map_err(data) };
        let region = slice.resolve(view.shape()).map_err(|reason| no_part(part, reason))?;
        match view.dtype() {
            DType::String => Ok(ScanResult::default()),
            _ => ScanResult::of_region(&view, &region, query).map_err(data),
        }
    }

    fn view(&self, part: &TensorPart) -> Result<TensorView<'a>, EvaluateError> {
        self.tensors.view(&part.tensor).ok_or_else(|| EvaluateError::NoTensor(part.tensor.clone()))
    }
}

/// Searches a tensor. Text has no bytes to search.
fn search(view: &TensorView<'_>, query: ScanQuery) -> Result<ScanResult, TensorError> {
    match view.dtype() {
        DType::String => Ok(ScanResult::default()),
        _ => ScanResult::of(view, query),
    }
}

/// Returns the index for a number that counts from the end if it is negative.
fn place(number: i64, length: usize) -> Option<usize> {
    usize::try_from(if number < 0 { number + length as i64 } else { number }).ok()
}

fn no_part(part: &TensorPart, reason: SliceError) -> EvaluateError {
    EvaluateError::NoPart { part: part.clone(), reason }
}
