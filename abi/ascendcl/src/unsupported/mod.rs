//! Functions that programs are linked with but that are not implemented here. Each reports that it is not supported.

/// Defines functions that return 200006 and keep a text that names them, whatever their arguments are.
macro_rules! unsupported {
    ($($function:ident)+) => {
        $(
            /// Always fails: it is not supported.
            #[opscope_border::exported]
            pub fn $function() -> std::ffi::c_int {
                $crate::last_error::runtime_call(|| Err($crate::border::Failure::unsupported(stringify!($function))))
            }
        )+
    };
}

/// Defines functions that return NULL and keep a text that names them, whatever their arguments are.
macro_rules! unsupported_objects {
    ($($function:ident)+) => {
        $(
            /// Returns NULL: it is not supported.
            #[opscope_border::exported]
            pub fn $function() -> *mut std::ffi::c_void {
                let failure = || Err($crate::border::Failure::unsupported(stringify!($function)));
                $crate::border::value(std::ptr::null_mut(), failure)
            }
        )+
    };
}

/// Defines functions that return 0 and keep a text that names them, whatever their arguments are.
macro_rules! unsupported_numbers {
    ($($function:ident)+) => {
        $(
            /// Returns 0: it is not supported.
            #[opscope_border::exported]
            pub fn $function() -> u64 {
                $crate::border::value(0, || Err($crate::border::Failure::unsupported(stringify!($function))))
            }
        )+
    };
}

mod models;
mod operators;
mod profiling;
mod runtime;
