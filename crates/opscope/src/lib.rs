//! opscope

pub mod acl_json;
