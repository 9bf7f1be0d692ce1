//! What is known of a kernel, and the texts of names as C reads them. They are kept until the process ends, like the
//! names.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_char;

use opscope::profile::{KernelNames, plan_names};
use opscope::trace::{ForkRoom, HeldLocks, NameId, PlanId, name_text};
use opscope_border::{SizedOut, exported, sized};
use opscope_sys::{Mutex, MutexGuard};

use crate::border::opscope_status_t::OPSCOPE_ERROR_NOT_FOUND;
use crate::border::{Failure, KeptText, keep};

/// A kernel of a plan that records refer to. Its texts are valid until the same thread's next query.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_kernel_t {
    /// `sizeof(opscope_kernel_t)`.
    pub size: usize,
    /// The name in the file of the operator that the kernel's time counts for. Empty for a kernel that the engine added
    /// on its own.
    pub operator_name: *const c_char,
    /// That operator's type, such as "Conv". Empty for a kernel that the engine added on its own.
    pub operator_type: *const c_char,
    /// The engine's name for the kernel.
    pub name: *const c_char,
    /// The name of the engine's operator.
    pub op: *const c_char,
    /// The names of the other operators that it stands for, separated by ", "; empty if there are none.
    pub fused: *const c_char,
    /// The model's file, as it was passed.
    pub model: *const c_char,
    /// The number of the other operators that it stands for.
    pub fused_count: u32,
    /// 1 if the engine itself says that it is this operator; 0 if that was inferred from the graph.
    pub exact: u32,
}
sized!(opscope_kernel_t, 64);

thread_local! {
    /// The texts of this thread's last query.
    static TEXTS: RefCell<Option<[KeptText; 6]>> = const { RefCell::new(None) };
}

/// Writes the names of a kernel to `kernel`, whose `size` must be set. `plan` and `index` are those in an
/// `opscope_dispatch_record_t`. The names of freed plans are kept for a while, so that a callback still finds them.
#[exported]
pub fn opscope_kernel(plan: u64, index: u32, kernel: SizedOut<'_, opscope_kernel_t>) -> Result<(), Failure> {
    kernel.check_given("kernel")?;
    let names = plan_names(PlanId(plan));
    let found = names.as_ref().and_then(|names| Some((names, names.kernels.get(index as usize)?)));
    let (names, found) = found.ok_or_else(|| {
        Failure::new(
            OPSCOPE_ERROR_NOT_FOUND,
            format!("there is no kernel {index} of a plan {plan}, or its names are gone"),
        )
    })?;
    let texts = texts(found, &names.model.display().to_string());
    let described = keep(&TEXTS, texts, |texts| {
        let [operator_name, operator_type, name, op, fused, model] = texts.each_ref().map(KeptText::as_ptr);
        opscope_kernel_t {
            size: size_of::<opscope_kernel_t>(),
            operator_name,
            operator_type,
            name,
            op,
            fused,
            model,
            fused_count: found.fused.len() as u32,
            exact: u32::from(found.exact),
        }
    })?;
    Ok(kernel.write(&described)?)
}

fn texts(kernel: &KernelNames, model: &str) -> [KeptText; 6] {
    let fused: Vec<&str> = kernel.fused.iter().map(|operator| operator.name.as_str()).collect();
    let (operator, op_type) = if kernel.added { ("", "") } else { (&*kernel.operator, &*kernel.op_type) };
    [operator, op_type, &*kernel.name, &*kernel.op, &*fused.join(", "), model].map(KeptText::new)
}

static NAME_TEXTS: Mutex<Option<HashMap<NameId, KeptText>>> = Mutex::new(None);

/// Returns the text of a name.
pub(super) fn text_for_c(name: NameId) -> Option<*const c_char> {
    static ROOM: ForkRoom = ForkRoom::new(|| Box::new(HeldTexts(lock())));
    // Without memory for the registration, only a fork during a call is unsafe.
    let _ = ROOM.register();
    let known = lock().get_or_insert_default().get(&name).map(KeptText::as_ptr);
    known.or_else(|| {
        // The lock is not held here, because the name is looked up under another lock, which a fork may hold already.
        let text = KeptText::new(&name_text(name)?);
        Some(lock().get_or_insert_default().entry(name).or_insert(text).as_ptr())
    })
}

fn lock() -> MutexGuard<'static, Option<HashMap<NameId, KeptText>>> {
    NAME_TEXTS.lock()
}

/// The locked texts during a fork.
struct HeldTexts(#[expect(dead_code, reason = "it is held")] MutexGuard<'static, Option<HashMap<NameId, KeptText>>>);

impl HeldLocks for HeldTexts {
    fn reset_in_child(self: Box<Self>) {}
}
