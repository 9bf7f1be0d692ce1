use super::Failure;

/// Returns a callback that the program must pass.
pub fn required<F>(callback: Option<F>, name: &'static str) -> Result<F, Failure> {
    Ok(opscope_border::required(callback, name)?)
}

/// Checks that a handle or an address is not NULL. It is not dereferenced.
pub fn given<T>(pointer: *mut T, name: &str) -> Result<*mut T, Failure> {
    if pointer.is_null() { Err(Failure::null(name)) } else { Ok(pointer) }
}
