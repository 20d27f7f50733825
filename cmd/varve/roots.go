package main

// If a system has no certificates of authorities, as in Varve's image, the program uses those of
// Mozilla that this package contains. A file at one of the usual places, such as
// /etc/ssl/certs/ca-certificates.crt, replaces them.
import _ "golang.org/x/crypto/x509roots/fallback"
