//! Commands that replace tensors of a run.

use anyhow::{Context, Result, anyhow, bail};
use half::{bf16, f16};
use opscope::debug::client::Client;
use opscope::debug::expression::TensorPart;
use opscope::debug::{Resume, Sequence};
use opscope::tensor::{DType, Element, Slice, Tensor, npy};
use serde_json::json;

use super::Console;
use crate::debug::command::{Number, Replacement, Skip};
use crate::debug::show;

impl Console {
    /// Replaces a tensor, or the part of it that a slice selects.
    pub(super) fn set(&self, part: &TensorPart, with: &Replacement) -> Result<()> {
        let tensor = replace(&self.client, self.stop_in_run()?.sequence, part, with)?;
        let form = show::tensor_form(Some(tensor.dtype()), tensor.shape());
        let text = format!("{} is replaced: {form}", TensorPart::from(part.tensor.clone()));
        let fields = json!({
            "reference": part.to_string(), "dtype": tensor.dtype().name(), "shape": tensor.shape(),
        });
        self.output.result("replaced", fields, text);
        Ok(())
    }

    /// Lets the run continue without executing the operator.
    pub(super) fn skip(&mut self, skip: &Skip) -> Result<()> {
        let stop = self.stop_in_run()?;
        let location = self.client.location(stop.sequence)?;
        let outputs = match skip {
            Skip::Files(paths) => {
                let read =
                    |path: &std::path::PathBuf| npy::read_file(path).with_context(|| format!("{}", path.display()));
                paths.iter().map(read).collect::<Result<Vec<_>>>()?
            }
            Skip::Zeros => {
                let zeros = |output: &opscope::debug::TensorInfo| {
                    let dtype = output.dtype.with_context(|| {
                        let reference = &output.reference;
                        if location.executes_skipped {
                            format!(
                                "the type and shape of {reference} are not known before it is computed; give an npy file, or stop \
                                 after the operator and write 'set {reference} = 0'"
                            )
                        } else {
                            format!("{reference} has a type of the engine's own, which has no zeros; give an npy file")
                        }
                    })?;
                    filled(dtype, &output.shape, Number::Int(0))
                };
                location.outputs.iter().map(zeros).collect::<Result<Vec<_>>>()?
            }
        };
        if location.executes_skipped {
            self.output.note("The engine cannot leave it out: it executes the operator and then replaces its outputs");
        }
        self.resume_and_wait(&stop, Resume::Skip(outputs), None).map(drop)
    }
}

/// Replaces a tensor where a run is stopped, or the part of it that a slice selects. Returns the whole new tensor.
///
/// # Errors
/// Returns an error if the new elements do not fit, or the program refuses them.
pub fn replace(client: &Client, stop: Sequence, part: &TensorPart, with: &Replacement) -> Result<Tensor> {
    let form = client.tensor(stop, part, 0, 0)?;
    let new = match with {
        Replacement::Number(number) => filled(form.dtype, &form.shape, *number)?,
        Replacement::File(path) => npy::read_file(path).with_context(|| format!("{}", path.display()))?,
    };
    let tensor = match &part.slice {
        None => new,
        Some(slice) => {
            let old = client.whole_tensor(stop, TensorPart::from(part.tensor.clone()))?;
            patched(&old, slice, &new)?
        }
    };
    client.replace(stop, &part.tensor, &tensor)?;
    Ok(tensor)
}

/// Returns a tensor with the same number in every element.
fn filled(dtype: DType, shape: &[usize], number: Number) -> Result<Tensor> {
    let elements: usize = shape.iter().product();
    let element = element(dtype, number)?;
    Ok(Tensor::new(dtype, shape.to_vec(), element.repeat(elements))?)
}

/// Returns the bytes of a number as an element.
fn element(dtype: DType, number: Number) -> Result<Vec<u8>> {
    let shown = match number {
        Number::Int(number) => number.to_string(),
        Number::Float(number) => number.to_string(),
    };
    let unfit = || anyhow!("{shown} is not a {dtype}, the type of the tensor's elements");
    let float = match number {
        Number::Int(number) => number as f64,
        Number::Float(number) => number,
    };
    let int = match number {
        Number::Int(number) => Some(number),
        Number::Float(number) => (number.fract() == 0.0 && number.abs() < 1e18).then_some(number as i128),
    };
    macro_rules! int {
        ($type:ty) => {
            int.and_then(|int| <$type>::try_from(int).ok()).ok_or_else(unfit)?.to_le_bytes().to_vec()
        };
    }
    let bytes = match dtype {
        DType::F64 => float.to_le_bytes().to_vec(),
        DType::F32 => (float as f32).to_le_bytes().to_vec(),
        DType::F16 => f16::from_f64(float).to_le_bytes().to_vec(),
        DType::Bf16 => bf16::from_f64(float).to_le_bytes().to_vec(),
        DType::I64 => int!(i64),
        DType::I32 => int!(i32),
        DType::I16 => int!(i16),
        DType::I8 => int!(i8),
        DType::U64 => int!(u64),
        DType::U32 => int!(u32),
        DType::U16 => int!(u16),
        DType::U8 => int!(u8),
        DType::Bool => vec![int.and_then(|int| u8::try_from(int).ok()).filter(|bit| *bit < 2).ok_or_else(unfit)?],
        _ => bail!("a number cannot fill a tensor of {dtype}; give an npy file"),
    };
    let back = Element::at(dtype, &bytes, 0).and_then(Element::to_f64);
    if float.is_finite() && !back.is_some_and(f64::is_finite) {
        return Err(unfit());
    }
    Ok(bytes)
}

/// Returns a tensor in which the part that a slice selects is replaced.
fn patched(old: &Tensor, slice: &Slice, new: &Tensor) -> Result<Tensor> {
    let size =
        old.dtype().size().with_context(|| format!("parts of a tensor of {} cannot be replaced", old.dtype()))?;
    // A slice of a tensor of indices gives the selected elements' indices.
    let indices: Vec<i64> = (0..old.elements() as i64).collect();
    let selected = slice.of(&Tensor::from_i64(old.shape().to_vec(), &indices)?.view(), usize::MAX)?;
    if (new.dtype(), new.shape()) != (old.dtype(), selected.shape()) {
        let wanted = show::tensor_form(Some(old.dtype()), selected.shape());
        bail!("{slice} selects {wanted}, but {} was given", show::tensor_form(Some(new.dtype()), new.shape()));
    }
    let mut bytes = old.bytes().to_vec();
    for (index, element) in selected.bytes().as_chunks::<8>().0.iter().zip(new.bytes().chunks_exact(size)) {
        let start = i64::from_le_bytes(*index) as usize * size;
        bytes[start..start + size].copy_from_slice(element);
    }
    Ok(Tensor::new(old.dtype(), old.shape().to_vec(), bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_the_type_cannot_hold_is_refused() {
        assert_eq!(element(DType::I8, Number::Int(-128)).unwrap(), [0x80]);
        assert_eq!(element(DType::F16, Number::Float(0.5)).unwrap(), [0x00, 0x38]);
        assert_eq!(element(DType::I32, Number::Float(2.0)).unwrap(), [2, 0, 0, 0]);
        assert!(element(DType::F32, Number::Float(f64::NAN)).is_ok());
        for (dtype, number) in [
            (DType::U8, Number::Int(256)),
            (DType::U8, Number::Int(-1)),
            (DType::I64, Number::Float(0.5)),
            (DType::F32, Number::Float(1e300)),
            (DType::F16, Number::Int(100_000)),
            (DType::Bool, Number::Int(2)),
        ] {
            let error = element(dtype, number).expect_err("it does not fit").to_string();
            assert!(error.contains(dtype.name()), "{error}");
        }
    }

    #[test]
    fn only_the_part_that_a_slice_selects_is_replaced() {
        let old = Tensor::from_f32(vec![2, 3], &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let slice: Slice = "[:, ::2]".parse().unwrap();
        let new = filled(DType::F32, &[2, 2], Number::Int(9)).unwrap();
        let expected = Tensor::from_f32(vec![2, 3], &[9.0, 1.0, 9.0, 9.0, 4.0, 9.0]).unwrap();
        assert_eq!(patched(&old, &slice, &new).unwrap(), expected);
        let error = patched(&old, &slice, &filled(DType::F32, &[3], Number::Int(9)).unwrap()).unwrap_err().to_string();
        assert!(error.contains("selects float32 [2, 2]"), "{error}");
    }
}
