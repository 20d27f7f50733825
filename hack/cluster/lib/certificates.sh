# Certificates and kubeconfigs of a bare cluster. Sourced by bare.sh.
# shellcheck shell=bash disable=SC2154

pki=$dir/pki

make_certificates() {
  mkdir -p "$pki"
  authority ca kubernetes
  authority front-proxy-ca front-proxy
  openssl genrsa -out "$pki/sa.key" 2048 2>/dev/null
  openssl rsa -in "$pki/sa.key" -pubout -out "$pki/sa.pub" 2>/dev/null
  certificate apiserver ca /CN=kube-apiserver serverAuth \
    "DNS:kubernetes,DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:localhost,IP:127.0.0.1,IP:$host_ip,IP:10.96.0.1"
  certificate apiserver-kubelet ca /O=system:masters/CN=kube-apiserver-kubelet clientAuth
  certificate front-proxy front-proxy-ca /CN=front-proxy clientAuth
  client kube-controller-manager /CN=system:kube-controller-manager
  client kube-scheduler /CN=system:kube-scheduler
  client kube-proxy /CN=system:kube-proxy
  client admin /O=system:masters/CN=admin
  cp "$pki/admin.conf" "$kubeconfig"
}

# make_node_certificates NODE ADDRESS
make_node_certificates() {
  if [[ -e $pki/$1.conf ]]; then return; fi
  certificate "$1-serving" ca "/O=system:nodes/CN=system:node:$1" serverAuth "DNS:$1,IP:$2"
  client "$1" "/O=system:nodes/CN=system:node:$1"
}

new_key() { openssl ecparam -name prime256v1 -genkey -noout -out "$pki/$1.key"; }

authority() {
  new_key "$1"
  openssl req -x509 -new -key "$pki/$1.key" -subj "/CN=$2" -days 3650 -out "$pki/$1.crt" \
    -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign
}

# certificate NAME AUTHORITY SUBJECT USAGE [ALTERNATIVE_NAMES]
certificate() {
  new_key "$1"
  openssl req -new -key "$pki/$1.key" -subj "$3" |
    openssl x509 -req -CA "$pki/$2.crt" -CAkey "$pki/$2.key" -CAcreateserial -days 3650 -out "$pki/$1.crt" \
      -extfile <(echo "extendedKeyUsage=$4${5:+$'\n'subjectAltName=$5}") 2>/dev/null
}

# client NAME SUBJECT makes a client certificate and a kubeconfig that holds it.
client() {
  certificate "$1" ca "$2" clientAuth
  cat >"$pki/$1.conf" <<YAML
apiVersion: v1
kind: Config
clusters: [{name: varve, cluster: {server: "https://$host_ip:6443", certificate-authority-data: $(base64 -w0 "$pki/ca.crt")}}]
users: [{name: $1, user: {client-certificate-data: $(base64 -w0 "$pki/$1.crt"), client-key-data: $(base64 -w0 "$pki/$1.key")}}]
contexts: [{name: varve, context: {cluster: varve, user: $1}}]
current-context: varve
YAML
  chmod 600 "$pki/$1.conf"
}
