//! Elements that lie anywhere, such as those of a transposed array.

/// Returns whether these strides, in units of elements or of bytes as `unit` says, are those of contiguous elements.
pub fn is_contiguous(shape: &[usize], strides: &[i64], unit: usize) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let mut expected = unit as i64;
    for (&dim, &stride) in shape.iter().zip(strides).rev() {
        if dim != 1 && stride != expected {
            return false;
        }
        expected *= dim as i64;
    }
    true
}

/// Copies elements of `size` bytes, row-major. The strides are in bytes.
///
/// # Safety
/// For every index within `shape`, `size` bytes can be read at `address` plus the strides times the index.
pub unsafe fn gather(address: *const u8, shape: &[usize], strides: &[i64], size: usize) -> Vec<u8> {
    let elements: usize = shape.iter().product();
    let mut bytes = Vec::with_capacity(elements * size);
    let mut index = vec![0usize; shape.len()];
    for _ in 0..elements {
        let offset: i64 = index.iter().zip(strides).map(|(&at, &stride)| at as i64 * stride).sum();
        // SAFETY: the index is within the shape, so by the contract of this function the element can be read.
        bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(address.offset(offset as isize), size) });
        for (at, &dim) in index.iter_mut().zip(shape).rev() {
            *at += 1;
            if *at < dim {
                break;
            }
            *at = 0;
        }
    }
    bytes
}
