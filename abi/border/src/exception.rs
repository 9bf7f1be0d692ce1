//! C++ exceptions that a tool's function throws. Rust cannot catch them, so a small assembly frame is called in
//! between: its personality routine tells the unwinder that it catches everything. See the Itanium C++ ABI, level I.

use std::ffi::c_void;

/// Calls a function. If it throws, returns the name of the exception's type.
#[cfg(target_arch = "x86_64")]
pub fn catch<F: FnOnce()>(function: F) -> Result<(), String> {
    let mut function = Some(function);
    // SAFETY: the frame calls `run` with the pointer, which leads to this function's variable, once.
    let exception = unsafe { frame::opscope_catching_frame((&raw mut function).cast(), run::<F>) };
    if exception.is_null() {
        return Ok(());
    }
    // SAFETY: the frame returned the exception that it caught, and nothing else refers to it.
    Err(unsafe { frame::end(exception) })
}

/// Calls a function. Exceptions are not caught on this architecture.
#[cfg(not(target_arch = "x86_64"))]
pub fn catch<F: FnOnce()>(function: F) -> Result<(), String> {
    let mut function = Some(function);
    // SAFETY: the pointer leads to this function's variable.
    unsafe { run::<F>((&raw mut function).cast()) };
    Ok(())
}

unsafe extern "C-unwind" fn run<F: FnOnce()>(function: *mut c_void) {
    // SAFETY: `catch` passes its `Option<F>`.
    let function = unsafe { &mut *function.cast::<Option<F>>() };
    if let Some(function) = function.take() {
        function();
    }
}

#[cfg(target_arch = "x86_64")]
mod frame {
    use std::arch::global_asm;
    use std::ffi::{CStr, c_char, c_int, c_void};

    const SEARCH_PHASE: c_int = 1;
    const HANDLER_FRAME: c_int = 4;
    const FORCED: c_int = 8;

    const HANDLER_FOUND: c_int = 6;
    const INSTALL_CONTEXT: c_int = 7;
    const CONTINUE_UNWIND: c_int = 8;

    /// The register that holds the exception in the handler: RAX.
    const EXCEPTION_REGISTER: c_int = 0;

    global_asm!(
        ".pushsection .text.opscope_catching_frame,\"ax\",@progbits",
        ".p2align 4",
        ".globl opscope_catching_frame",
        ".hidden opscope_catching_frame",
        ".type opscope_catching_frame,@function",
        "opscope_catching_frame:",
        ".cfi_startproc",
        // The address of the routine relative to this position, in 4 bytes.
        ".cfi_personality 0x1b, {personality}",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "call rsi",
        "xor eax, eax",
        // The unwinder continues here, with the exception in RAX.
        ".globl opscope_catching_handler",
        ".hidden opscope_catching_handler",
        "opscope_catching_handler:",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
        ".size opscope_catching_frame, . - opscope_catching_frame",
        ".popsection",
        personality = sym personality,
    );

    unsafe extern "C" {
        /// Calls `function` with `data`. Returns null, or the exception that it threw.
        pub fn opscope_catching_frame(
            data: *mut c_void,
            function: unsafe extern "C-unwind" fn(*mut c_void),
        ) -> *mut c_void;
        fn opscope_catching_handler();

        fn _Unwind_SetGR(context: *mut c_void, register: c_int, value: usize);
        fn _Unwind_SetIP(context: *mut c_void, address: usize);
        fn _Unwind_DeleteException(exception: *mut c_void);
    }

    /// Catches every exception, but lets a cancelled thread unwind.
    unsafe extern "C" fn personality(
        _version: c_int,
        actions: c_int,
        _class: u64,
        exception: *mut c_void,
        context: *mut c_void,
    ) -> c_int {
        if actions & FORCED != 0 {
            return CONTINUE_UNWIND;
        }
        if actions & SEARCH_PHASE != 0 {
            return HANDLER_FOUND;
        }
        if actions & HANDLER_FRAME == 0 {
            return CONTINUE_UNWIND;
        }
        // SAFETY: the unwinder passes its context, in which the frame continues at its handler.
        unsafe {
            _Unwind_SetGR(context, EXCEPTION_REGISTER, exception as usize);
            _Unwind_SetIP(context, opscope_catching_handler as *const () as usize);
        }
        INSTALL_CONTEXT
    }

    /// Ends an exception and returns the name of its type. The C++ runtime ends its own exceptions, because it counts
    /// them.
    ///
    /// # Safety
    /// The exception was caught, and is not used afterwards.
    pub unsafe fn end(exception: *mut c_void) -> String {
        // SAFETY: the header of an exception begins with its class, 8 bytes.
        let class = unsafe { exception.cast::<u64>().read() };
        // "GNUCC++" and a byte that distinguishes a dependent exception from a primary one.
        let is_cxx = class >> 8 == u64::from_be_bytes(*b"\0GNUCC++");
        if is_cxx && let (Some(begin), Some(end)) = (function(c"__cxa_begin_catch"), function(c"__cxa_end_catch")) {
            // SAFETY: these are the functions of the C++ ABI with these names and signatures.
            unsafe {
                let begin: unsafe extern "C" fn(*mut c_void) -> *mut c_void = std::mem::transmute(begin);
                let end: unsafe extern "C" fn() = std::mem::transmute(end);
                begin(exception);
                let name = type_name();
                end();
                return name;
            }
        }
        // SAFETY: guaranteed by the caller.
        unsafe { _Unwind_DeleteException(exception) };
        "an exception".to_owned()
    }

    /// Returns the name of the type of the exception that is being handled.
    unsafe fn type_name() -> String {
        let unknown = || "a C++ exception".to_owned();
        let Some(current) = function(c"__cxa_current_exception_type") else { return unknown() };
        // SAFETY: a std::type_info consists of the pointer to its virtual functions and its mangled name.
        let mangled = unsafe {
            let current: unsafe extern "C" fn() -> *const [*const c_char; 2] = std::mem::transmute(current);
            let info = current();
            if info.is_null() {
                return unknown();
            }
            // GNU's compiler marks names that are only unique by their address, such as those in anonymous namespaces,
            // with an asterisk.
            let name = (*info)[1];
            if *name == b'*' as c_char { name.add(1) } else { name }
        };
        let Some(demangle) = function(c"__cxa_demangle") else { return unknown() };
        // SAFETY: the function of the C++ ABI allocates the text, which is freed.
        unsafe {
            type Demangle = unsafe extern "C" fn(*const c_char, *mut c_char, *mut usize, *mut c_int) -> *mut c_char;
            let demangle: Demangle = std::mem::transmute(demangle);
            let text = demangle(mangled, std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
            if text.is_null() {
                return unknown();
            }
            let name = CStr::from_ptr(text).to_string_lossy().into_owned();
            libc::free(text.cast());
            name
        }
    }

    /// Returns a function of the C++ runtime, which the process has loaded with the tool.
    fn function(name: &CStr) -> Option<*mut c_void> {
        // SAFETY: the names end with NUL.
        let found = unsafe {
            let runtime = libc::dlopen(c"libstdc++.so.6".as_ptr(), libc::RTLD_NOLOAD | libc::RTLD_LAZY);
            libc::dlsym(if runtime.is_null() { libc::RTLD_DEFAULT } else { runtime }, name.as_ptr())
        };
        (!found.is_null()).then_some(found)
    }
}
