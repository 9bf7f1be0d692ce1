use opscope_border::unpadded;

use super::layout;

/// A size or an index in two dimensions.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Dim2 {
    pub x: u32,
    pub y: u32,
}

/// A size or an index in three dimensions.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Dim3 {
    pub x: u32,
    pub y: u32,
    pub z: u32,
}

layout!(Dim2, 8, 4: x @ 0, y @ 4);
layout!(Dim3, 12, 4: x @ 0, y @ 4, z @ 8);

unpadded!(Dim3 { x, y, z });
