use std::ffi::{c_char, c_int, c_void};

use opscope::onnx::{Graph, Producer};

use super::port::{Port, bytes_of};
use super::source::{read_file, read_memory};
use crate::border::{Failure, call, codes, out};

/// The memory that a program is asked to give a model.
///
/// The engine has its own, and leaves the program's unused. These are the sizes that a program can reason with: what the model's
/// inputs and outputs take as far as the file says, and its weights.
#[derive(Debug, Clone, Copy)]
pub struct Sizes {
    pub work: usize,
    pub weights: usize,
}

impl Sizes {
    /// Returns the sizes of a model. Neither is 0, since programs allocate them.
    pub fn of(graph: &Graph) -> Self {
        let ports = [&graph.inputs, &graph.outputs].into_iter().flat_map(|values| Port::of(graph, values));
        let work = ports.filter_map(|port| port.bytes()).fold(0, usize::saturating_add);
        let weights = graph.values.iter().filter(|value| value.producer == Producer::Initializer);
        let bytes = weights.filter_map(|value| {
            let port = Port { name: String::new(), dtype: value.dtype, dims: value.shape.clone() };
            bytes_of(port.dtype?, &port.fixed()?)
        });
        Self { work: work.max(1), weights: bytes.fold(0, usize::saturating_add).max(1) }
    }

    /// Checks memory that a program gives. NULL stands for memory of the library.
    pub fn check(&self, work: (*mut c_void, usize), weights: (*mut c_void, usize)) -> Result<(), Failure> {
        for (name, (address, size), least) in [("workSize", work, self.work), ("weightSize", weights, self.weights)] {
            if !address.is_null() && size < least {
                let reason = format!("this model takes at least {least}");
                return Err(Failure::wrong_value_of(codes::GE_PARAM_INVALID, name, size, &reason));
            }
        }
        Ok(())
    }
}

/// Writes the sizes of the memory that a model's file takes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlQuerySize(
    file_name: *const c_char,
    work_size: *mut usize,
    weight_size: *mut usize,
) -> c_int {
    // SAFETY: as the caller promises.
    call(|| unsafe { write(work_size, weight_size, || read_file(file_name).map(|graph| Sizes::of(&graph))) })
}

/// Writes the sizes of the memory that a model takes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aclmdlQuerySizeFromMem(
    model: *const c_void,
    model_size: usize,
    work_size: *mut usize,
    weight_size: *mut usize,
) -> c_int {
    // SAFETY: as the caller promises.
    call(|| unsafe { write(work_size, weight_size, || read_memory(model, model_size).map(|graph| Sizes::of(&graph))) })
}

/// # Safety
/// What is not NULL is writable.
unsafe fn write(
    work: *mut usize,
    weights: *mut usize,
    sizes: impl FnOnce() -> Result<Sizes, Failure>,
) -> Result<(), Failure> {
    let (work, weights) = (out(work, "workSize")?, out(weights, "weightSize")?);
    let sizes = sizes()?;
    // SAFETY: they are not NULL, and the caller promises that they are writable.
    unsafe {
        work.write(sizes.work);
        weights.write(sizes.weights);
    }
    Ok(())
}
