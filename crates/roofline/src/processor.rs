use std::fs;

/// Returns the processor's name as the system gives it, or the processor family if it gives none.
pub fn processor_name() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    field(&text, "model name").unwrap_or(std::env::consts::ARCH).to_owned()
}

/// Returns everything that tells this processor from others. The name is not enough, because cloud machines give the
/// same name to many processors.
pub(crate) fn processor_identity() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let fields = ["vendor_id", "cpu family", "model", "stepping", "model name", "cache size", "flags"];
    let found = fields.map(|name| field(&text, name).unwrap_or("-"));
    let processors = text.lines().filter(|line| line.starts_with("processor")).count();
    format!("{}; {processors} processors", found.join("; "))
}

/// Returns whether the system lists a feature of the processor under this name.
#[cfg(target_arch = "x86_64")]
pub(crate) fn has_flag(name: &str) -> bool {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    field(&text, "flags").is_some_and(|flags| flags.split_whitespace().any(|flag| flag == name))
}

/// Returns a field of the first processor.
fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let value =
        |line: &'t str| line.split_once(':').filter(|(found, _)| found.trim() == name).map(|(_, value)| value.trim());
    text.lines().find_map(value)
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = "processor\t: 0\nmodel name\t: A: B\nmodel\t\t: 2\n";
        assert_eq!(
            [field(text, "model"), field(text, "model name"), field(text, "step")],
            [Some("2"), Some("A: B"), None]
        );
    }
}
