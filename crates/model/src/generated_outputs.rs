/// A count of the memory of outputs that operators generate in a run from a few numbers in the model's file.
///
/// Operators such as `Pad` and `RandomNormal` produce outputs of any size from tiny inputs, so a file of a hundred
/// bytes can exhaust the memory and take minutes in each run. An engine counts their outputs against a limit for a
/// model of this size.
#[derive(Debug, Clone, Copy)]
pub struct GeneratedOutputs {
    made: u64,
    most: u64,
    factor: u32,
}

/// Operators would generate more memory than the limit, in mebibytes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "what is made of numbers in the file would take {made} MiB of memory up to here, and a run of a model of this size may make {most} MiB \
     of that; a load budget of {needed} allows it"
)]
pub struct TooMuchGenerated {
    made: u64,
    most: u64,
    needed: u64,
}

/// The operators whose attributes or small inputs determine the size of their outputs.
const SIZED: [&str; 12] = [
    "CenterCropPad",
    "ConstantOfShape",
    "Expand",
    "EyeLike",
    "OneHot",
    "Pad",
    "RandomNormal",
    "RandomUniform",
    "Range",
    "Resize",
    "Tile",
    "Upsample",
];

/// The largest ratio of an output to its inputs, in bytes, at which the output still grows with the data. Such an
/// output is not counted.
const GROWS: u64 = 64;

impl GeneratedOutputs {
    /// Creates a count with a limit of `most` bytes. `factor` is that of the load budget which allows them, for the
    /// message.
    pub fn within(most: u64, factor: u32) -> Self {
        Self { made: 0, most, factor }
    }

    /// Adds an operator, with the bytes of its inputs and of its outputs.
    ///
    /// # Errors
    /// Returns an error that says by how much the limit is exceeded.
    pub fn add(&mut self, op_type: &str, inputs: u64, outputs: u64) -> Result<(), TooMuchGenerated> {
        if !SIZED.contains(&op_type) || outputs <= inputs.saturating_mul(GROWS) {
            return Ok(());
        }
        self.made = self.made.saturating_add(outputs);
        if self.made <= self.most {
            return Ok(());
        }
        let needed = self.made.div_ceil((self.most / u64::from(self.factor)).max(1));
        Err(TooMuchGenerated { made: self.made >> 20, most: self.most >> 20, needed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_of_numbers_is_counted_up_to_the_bound() {
        let mut made = GeneratedOutputs::within(1 << 20, 1);
        assert_eq!(made.add("Pad", 4, 1 << 19), Ok(()));
        assert_eq!(made.add("RandomNormal", 0, 1 << 19), Ok(()));
        let reason = made.add("Tile", 1, 65).unwrap_err().to_string();
        assert!(reason.contains("a load budget of 2 allows it"), "{reason}");
    }

    #[test]
    fn what_grows_with_the_data_is_not_counted() {
        let mut made = GeneratedOutputs::within(0, 1);
        assert_eq!(made.add("Pad", 100, 6400), Ok(()));
        assert_eq!(made.add("MatMul", 1, 1 << 40), Ok(()));
        assert!(made.add("Pad", 100, 6401).is_err());
    }

    #[test]
    fn the_budget_that_is_named_allows_it() {
        for factor in [1, 3] {
            let error = GeneratedOutputs::within(u64::from(factor) << 30, factor).add("Pad", 4, 10 << 30).unwrap_err();
            let reason = error.to_string();
            assert!(reason.ends_with("a load budget of 10 allows it"), "{reason}");
        }
        assert_eq!(GeneratedOutputs::within(10 << 30, 10).add("Pad", 4, 10 << 30), Ok(()));
    }
}
