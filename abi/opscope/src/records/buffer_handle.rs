use opscope::trace::Buffer;

use crate::border::handle;

/// A buffer, in which records wait for their callback. Destroy it with `opscope_buffer_destroy`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_buffer_t {
    /// 0 is no buffer.
    pub id: u64,
}
handle!(opscope_buffer_t => Buffer, "buffer");
