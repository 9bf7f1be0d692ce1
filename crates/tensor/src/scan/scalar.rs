use super::part::Part;
use super::{Detail, ScanQuery};
use crate::{DType, Element};

/// Scans complex numbers, small floats and 4-bit types, one element at a time.
pub(super) fn look(dtype: DType, bytes: &[u8], left: u64, query: ScanQuery) -> Part {
    let mut part = Part::default();
    let left = usize::try_from(left).unwrap_or(usize::MAX);
    for element in (0..left).map_while(|index| Element::at(dtype, bytes, index)) {
        let (parts, magnitude) = match element {
            Element::Complex(re, im) => ([re, im], re.hypot(im)),
            real => {
                let value = real.to_f64().expect("all others are real");
                ([value; 2], value.abs())
            }
        };
        if parts.iter().any(|part| part.is_nan()) {
            part.nan += 1;
            continue;
        }
        if parts.iter().any(|part| part.is_infinite()) {
            part.infinite += 1;
            continue;
        }
        part.zeros += u64::from(query.zeros > Detail::Nothing && parts == [0.0; 2]);
        if query.absmax {
            part.add_absmax(magnitude);
        }
        if query.range && !dtype.is_complex() {
            part.add_min(parts[0]);
            part.add_max(parts[0]);
        }
    }
    part
}
