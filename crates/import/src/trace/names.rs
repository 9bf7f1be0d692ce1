//! Names that several tools write each in its own way.

use std::borrow::Cow;

/// Names a copy as PyTorch's profiler does, so that recordings of different tools compare: `Memcpy HtoD` for what
/// rocprofv3 calls `HOST_TO_DEVICE` or `MEMORY_COPY_HOST_TO_DEVICE`.
pub(super) fn copy_name(direction: &str) -> Cow<'_, str> {
    let short = match direction.strip_prefix("MEMORY_COPY_").unwrap_or(direction) {
        "HOST_TO_DEVICE" => "Memcpy HtoD",
        "DEVICE_TO_HOST" => "Memcpy DtoH",
        "DEVICE_TO_DEVICE" => "Memcpy DtoD",
        "HOST_TO_HOST" => "Memcpy HtoH",
        "" | "NONE" => "Memcpy",
        _ => return Cow::Borrowed(direction),
    };
    Cow::Borrowed(short)
}

/// Returns whether calls of this domain of rocprofv3 are ranges and marks of the user's code.
pub(super) fn is_marker_domain(domain: &str) -> bool {
    domain.contains("MARKER")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_have_the_names_of_pytorchs_profiler() {
        for (direction, name) in [
            ("HOST_TO_DEVICE", "Memcpy HtoD"),
            ("MEMORY_COPY_DEVICE_TO_HOST", "Memcpy DtoH"),
            ("DEVICE_TO_DEVICE", "Memcpy DtoD"),
            ("MEMORY_COPY_HOST_TO_HOST", "Memcpy HtoH"),
            ("", "Memcpy"),
            ("MEMORY_COPY_NONE", "Memcpy"),
            ("SIDEWAYS", "SIDEWAYS"),
        ] {
            assert_eq!(copy_name(direction), name);
        }
    }
}
