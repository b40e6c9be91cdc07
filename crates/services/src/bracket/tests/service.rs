//! The service over real databases.
