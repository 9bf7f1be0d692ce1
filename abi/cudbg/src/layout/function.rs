use std::ffi::c_void;

/// An entry of the table: a function. Clients know its signature from the header.
#[repr(transparent)]
pub struct Function(*const c_void);

// SAFETY: it is the address of code, which nothing writes to.
unsafe impl Sync for Function {}

impl Function {
    pub const fn new(function: *const c_void) -> Self {
        Self(function)
    }

    #[cfg(test)]
    pub fn is_null(&self) -> bool {
        self.0.is_null()
    }
}
