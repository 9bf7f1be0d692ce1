use opscope_border::UserData;

use super::layout;

/// The argument of a callback since CUDA 3.2.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CallbackData40 {
    pub tid: u32,
}

/// The argument of a callback since CUDA 4.1.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CallbackData41 {
    pub tid: u32,
    pub timeout: u32,
}

/// The argument of a callback since CUDA 13.0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CallbackData {
    pub user_data: UserData,
    pub tid: u32,
}

layout!(CallbackData40, 4, 4: tid @ 0);
layout!(CallbackData41, 8, 4: tid @ 0, timeout @ 4);
layout!(CallbackData, 16, 8: user_data @ 0, tid @ 8);
