//! `detach`: a job whose output also appends to a file.
